import { describe, expect, test } from 'vitest'
import type { WebAttachments } from '../attachments/attachment-store.ts'
import { readContentParts } from './content-parts.ts'
import { readRunInput } from './run-input.ts'

const run = { owner: 'ann', threadId: 't', runId: 'r' }
// This is the part of the record store that a person's own bytes need.
const attachments = {
  findByUrl: async () => undefined,
  hasTrustedOrigin: (url: string) => url.startsWith('https://ours.example/storage/v1/object/sign/'),
  store: async () => ({ path: 'ann/t/r/1a2b3c4d-file', mime: 'text/plain' }),
} as unknown as WebAttachments

async function read(part: object) {
  const messages = [{ id: 'm', role: 'user', content: [part] }]
  const { input } = await readRunInput({ threadId: 't', runId: 'r', messages })
  return readContentParts(input.messages[0]?.content, run, attachments)
}

describe('a part of a message', () => {
  const url = 'https://files.example/get?id=7&token=abc'

  test('keeps its URL’s query, and names its kind', async () => {
    const source = { type: 'url', value: url, mimeType: 'image/png' }
    const { parts } = await read({ type: 'image', source })
    expect(parts).toEqual([{ kind: 'file', mime: 'image/png', bytes_ref: { kind: 'url', url } }])
  })

  test('keeps the query of a signed URL of an unknown project', async () => {
    const signed = 'storage/v1/object/sign/agent-files/a/img.jpg?token=x.y.z'
    const addressOf = async (value: string) =>
      (await read({ type: 'image', source: { type: 'url', value, mimeType: 'image/jpeg' } })).parts
    expect(await addressOf(`https://xxx.supabase.co/${signed}`)).toEqual([
      { kind: 'file', mime: 'image/jpeg', bytes_ref: { kind: 'url', url: `https://xxx.supabase.co/${signed}` } },
    ])
    // A signed URL of the gateway that gives this person no access contains a credential, perhaps of another person.
    expect(await addressOf(`https://ours.example/${signed}`)).toEqual([
      { kind: 'link', url: 'https://ours.example/storage/v1/object/sign/agent-files/a/img.jpg' },
    ])
  })

  test('of an earlier client keeps its filename, with bytes and with a URL', async () => {
    const data = Buffer.from('hello').toString('base64')
    const binary = { type: 'binary', mimeType: 'text/plain', filename: 'notes.txt' }
    expect((await read({ ...binary, data })).parts).toMatchObject([{ kind: 'file', name: 'notes.txt', size: 5 }])
    expect((await read({ ...binary, url })).parts).toMatchObject([{ name: 'notes.txt', bytes_ref: { url } }])
  })

  test('without a filename has the name that the record store gave its bytes', async () => {
    const source = { type: 'data', value: Buffer.from('hello').toString('base64'), mimeType: 'text/plain' }
    expect((await read({ type: 'document', source })).parts).toMatchObject([{ name: '1a2b3c4d-file' }])
  })

  test.each(['javascript:alert(1)', 'https://ann:secret@files.example/a.png', 'file:///etc/passwd'])(
    'with the URL %s gives only a warning',
    async value => {
      const { parts, warnings } = await read({ type: 'image', source: { type: 'url', value, mimeType: 'image/png' } })
      expect([parts.length, warnings.length]).toEqual([0, 1])
    },
  )
})
