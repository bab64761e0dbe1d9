import { hash } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually } from '../setup/gateway.ts'
import type { PeopleChatGateway } from './chat-gateway.ts'
import { openPeopleChatGateway } from './chat-gateway.ts'

// These tests check that the files of posts are stored with them: the chat has a bucket and a path for those from the fediverse.

const png = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex')
let gateway: PeopleChatGateway

beforeAll(async () => {
  gateway = await openPeopleChatGateway({})
  await gateway.linkAccount('alice@mastodon.test')
})
afterAll(() => gateway.close())

interface FileLocation {
  readonly bucket: string
  readonly path: string
  readonly mime_type: string
}

const file = (bytes: Uint8Array, name = 'a cat.png') => ({ name, mediaType: 'image/png', bytes })

async function post(text: string, files: readonly ReturnType<typeof file>[], from = 'alice@mastodon.test') {
  const { fediverse } = gateway.gateway.simulation
  const receipt = await fediverse.deliver({ to: 'desk@agents.test', text, from, files, visibility: 'direct' })
  await fediverse.awaitReply(receipt.objectId, 30_000)
  return receipt
}

/** Returns the metadata that the chat shows of the message with this text. */
async function metadataOf(text: string): Promise<Record<string, unknown>> {
  for (const { threadId } of await gateway.threads()) {
    const message = (await gateway.read(threadId)).find(({ content }) => content === text)
    if (message) return message.metadata
  }
  throw new Error(`nobody said ${text}`)
}

const sign = ({ bucket, path }: FileLocation, as: 'ann' | 'bob' = 'ann') =>
  gateway.call(`/api/v1/agent/attachments/signed-url?${new URLSearchParams({ bucket, path })}`, { as })

test('a posted picture has a bucket, path and type but no URL, and only its owner can read its bytes', async () => {
  await post('look at apple', [file(png)])
  const metadata = await metadataOf('look at apple')
  const location = metadata.user_message_attachments as FileLocation
  expect(location).toEqual({
    bucket: 'conversations',
    path: expect.stringMatching(new RegExp(`^\\d+/${hash('sha256', png)}/file$`)),
    mime_type: 'image/png',
  })
  expect(JSON.stringify(metadata)).not.toMatch(/https?:|token/)
  const signed = (await (await sign(location)).json()) as { url: string }
  const path = new URL(signed.url)
  const response = await fetch(gateway.gateway.url() + path.pathname + path.search)
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'image/png'])
  expect(Buffer.from(await response.arrayBuffer())).toEqual(png)

  const refusal = await sign(location, 'bob')
  expect([refusal.status, ((await refusal.json()) as { detail: string }).detail]).toEqual([
    404,
    'Cannot sign attachment: there is none of yours',
  ])
  const [message = ''] = location.path.split('/')
  for (const path of [
    `${Number(message) + 1}${location.path.slice(message.length)}`,
    `${message}/${'0'.repeat(64)}/x`,
  ]) {
    expect((await sign({ ...location, path })).status).toBe(404)
  }
  const forgedResponse = await fetch(
    `${gateway.gateway.url()}/storage/v1/object/sign/conversations/${location.path}?token=a.b.c`,
  )
  expect([forgedResponse.status, ((await forgedResponse.json()) as { detail: string }).detail]).toEqual([
    403,
    'Cannot read attachment: the URL does not hold',
  ])
})

test('the list has all attached files, while large files and other kinds stay remote', async () => {
  const otherBytes = Buffer.concat([png, Buffer.from('more')])
  await post('look at both', [file(png), file(otherBytes, 'The same cat, asleep')])
  const bothFields = await metadataOf('look at both')
  expect(bothFields.user_message_attachments_all).toMatchObject([
    { mime_type: 'image/png' },
    { mime_type: 'image/png' },
  ])
  const paths = (bothFields.user_message_attachments_all as FileLocation[]).map(({ path }) =>
    path.split('/').slice(2).join('/'),
  )
  // The fediverse does not name files: the `name` there describes what a picture shows.
  expect(paths).toEqual(['file', 'file'])
  const rejectedFiles = [file(Buffer.from([0, 1, 2, 3, 4])), file(Buffer.concat([png, Buffer.alloc(11 * 1024 * 1024)]))]
  await post('look at neither', rejectedFiles)
  expect((await metadataOf('look at neither')).user_message_attachments).toBeUndefined()
})

test('the gateway deletes a stored file when the author deletes its post', async () => {
  const ownBytes = Buffer.concat([png, Buffer.from('cherry')])
  const { objectId } = await post('look at cherry', [file(ownBytes)])
  const location = (await metadataOf('look at cherry')).user_message_attachments as FileLocation
  const { url } = (await (await sign(location)).json()) as { url: string }
  const { pathname, search } = new URL(url)
  await gateway.gateway.simulation.fediverse.send({ to: 'desk@agents.test', type: 'Delete', object: objectId })
  const removedResponse = await eventually(async () => {
    const response = await fetch(gateway.gateway.url() + pathname + search)
    return response.status === 404 && response
  })
  expect(((await removedResponse.json()) as { detail: string }).detail).toBe('Cannot read attachment: it is gone')
})
