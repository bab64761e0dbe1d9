import { hash } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually } from '../setup/gateway.ts'
import type { PeopleChatGateway } from './chat-gateway.ts'
import { openPeopleChatGateway } from './chat-gateway.ts'

// These tests check that the files of posts are stored with them: the chat has a bucket and a path for those from the fediverse.

const png = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex')
let chat: PeopleChatGateway

beforeAll(async () => {
  chat = await openPeopleChatGateway({})
  await chat.linkAccount('alice@mastodon.test')
})
afterAll(() => chat.close())

interface FileLocation {
  readonly bucket: string
  readonly path: string
  readonly mime_type: string
}

const makeFile = (bytes: Uint8Array, name = 'a cat.png') => ({ name, mediaType: 'image/png', bytes })

async function postFiles(text: string, files: readonly ReturnType<typeof makeFile>[], from = 'alice@mastodon.test') {
  const { fediverse } = chat.gateway.simulation
  const receipt = await fediverse.deliver({ to: 'desk@agents.test', text, from, files, visibility: 'direct' })
  await fediverse.awaitReply(receipt.objectId, 30_000)
  return receipt
}

/** Returns the metadata that the chat shows of the message with this text. */
async function findMetadata(text: string): Promise<Record<string, unknown>> {
  for (const { threadId } of await chat.threads()) {
    const message = (await chat.read(threadId)).find(({ content }) => content === text)
    if (message) return message.metadata
  }
  throw new Error(`nobody said ${text}`)
}

const requestSignedUrl = ({ bucket, path }: FileLocation, as: 'ann' | 'bob' = 'ann') =>
  chat.requestAs(`/api/v1/agent/attachments/signed-url?${new URLSearchParams({ bucket, path })}`, { as })

test('a posted picture has a bucket, path and type but no URL, and only its owner can read its bytes', async () => {
  await postFiles('look at apple', [makeFile(png)])
  const metadata = await findMetadata('look at apple')
  const location = metadata.user_message_attachments as FileLocation
  expect(location).toEqual({
    bucket: 'conversations',
    path: expect.stringMatching(new RegExp(`^\\d+/${hash('sha256', png)}/file$`)),
    mime_type: 'image/png',
  })
  expect(JSON.stringify(metadata)).not.toMatch(/https?:|token/)
  const signed = (await (await requestSignedUrl(location)).json()) as { url: string }
  const path = new URL(signed.url)
  const response = await fetch(chat.gateway.url() + path.pathname + path.search)
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'image/png'])
  expect(Buffer.from(await response.arrayBuffer())).toEqual(png)

  const refusal = await requestSignedUrl(location, 'bob')
  expect([refusal.status, ((await refusal.json()) as { detail: string }).detail]).toEqual([
    404,
    'Cannot sign attachment: you have no attachment at this location',
  ])
  const [messageNumber = ''] = location.path.split('/')
  for (const path of [
    `${Number(messageNumber) + 1}${location.path.slice(messageNumber.length)}`,
    `${messageNumber}/${'0'.repeat(64)}/x`,
  ]) {
    expect((await requestSignedUrl({ ...location, path })).status).toBe(404)
  }
  const forgedResponse = await fetch(
    `${chat.gateway.url()}/storage/v1/object/sign/conversations/${location.path}?token=a.b.c`,
  )
  expect([forgedResponse.status, ((await forgedResponse.json()) as { detail: string }).detail]).toEqual([
    403,
    'Cannot read attachment: the URL is not valid or has expired',
  ])
})

test('the list has all attached files, while large files and other kinds stay remote', async () => {
  const otherBytes = Buffer.concat([png, Buffer.from('more')])
  await postFiles('look at both', [makeFile(png), makeFile(otherBytes, 'The same cat, asleep')])
  const metadata = await findMetadata('look at both')
  expect(metadata.user_message_attachments_all).toMatchObject([{ mime_type: 'image/png' }, { mime_type: 'image/png' }])
  const paths = (metadata.user_message_attachments_all as FileLocation[]).map(({ path }) =>
    path.split('/').slice(2).join('/'),
  )
  // The fediverse does not name files: the `name` there describes what a picture shows.
  expect(paths).toEqual(['file', 'file'])
  const rejectedFiles = [
    makeFile(Buffer.from([0, 1, 2, 3, 4])),
    makeFile(Buffer.concat([png, Buffer.alloc(11 * 1024 * 1024)])),
  ]
  await postFiles('look at neither', rejectedFiles)
  expect((await findMetadata('look at neither')).user_message_attachments).toBeUndefined()
})

test('the gateway deletes a stored file when the author deletes its post', async () => {
  const ownBytes = Buffer.concat([png, Buffer.from('cherry')])
  const { objectId } = await postFiles('look at cherry', [makeFile(ownBytes)])
  const location = (await findMetadata('look at cherry')).user_message_attachments as FileLocation
  const { url } = (await (await requestSignedUrl(location)).json()) as { url: string }
  const { pathname, search } = new URL(url)
  await chat.gateway.simulation.fediverse.send({ to: 'desk@agents.test', type: 'Delete', object: objectId })
  const removedResponse = await eventually(async () => {
    const response = await fetch(chat.gateway.url() + pathname + search)
    return response.status === 404 && response
  })
  expect(((await removedResponse.json()) as { detail: string }).detail).toBe('Cannot read attachment: it is gone')
})
