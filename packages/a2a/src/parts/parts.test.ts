import type { Part } from '@postern/message'
import { expect, test } from 'vitest'
import { readParts } from '../normalize.ts'
import { readKnownBytes, writeParts } from '../render.ts'
import { readToolEvent } from './parts.ts'

const digest = 'a'.repeat(64)

test.each<[string, Part, object]>([
  ['text', { kind: 'text', mime: 'text/markdown', content: '*x*' }, { text: '*x*', mediaType: 'text/markdown' }],
  [
    'a link',
    { kind: 'link', url: 'https://a.test/', title: 'A' },
    {
      text: 'A: https://a.test/',
      mediaType: 'text/plain',
      metadata: { mentionable: { kind: 'link', url: 'https://a.test/', title: 'A' } },
    },
  ],
  [
    'a file by address',
    { kind: 'file', name: 'a.pdf', mime: 'application/pdf', bytes_ref: { kind: 'url', url: 'https://a.test/a.pdf' } },
    { url: 'https://a.test/a.pdf', filename: 'a.pdf', mediaType: 'application/pdf' },
  ],
  ['inline bytes', { kind: 'file', bytes_ref: { kind: 'inline', data_base64: 'aGk=' } }, { raw: 'aGk=' }],
  [
    'stored bytes that are gone, by their address',
    { kind: 'file', bytes_ref: { kind: 'content_addressed', algo: 'sha256', digest, url: 'https://a.test/b' } },
    { url: 'https://a.test/b' },
  ],
])('writeParts() writes %s', (_, part, wire) => {
  expect(writeParts([part])).toEqual([wire])
})

test.each<[string, Part]>([
  ['a kind nobody knows', { kind: 'hologram', depth: 3 } as unknown as Part],
  ['a kind named like a member of objects', { kind: 'constructor' } as unknown as Part],
  ['stored bytes that are gone', { kind: 'file', bytes_ref: { kind: 'content_addressed', algo: 'sha256', digest } }],
  [
    'an artifact marked as data that is no JSON',
    { kind: 'artifact', artifact_type: 'other', bytes_ref: { kind: 'content_addressed', algo: 'sha256', digest } },
  ],
])('writeParts() keeps %s unchanged as data', (_, part) => {
  const metadata = { mentionable: { kind: part.kind } }
  expect(writeParts([part])).toEqual([{ data: part, mediaType: 'application/json', metadata }])
})

test('writeParts() keeps a policy unchanged as data, and adds it as text (MN-3, MN-7.1)', () => {
  const policy = { kind: 'consent_required', title: 'Wait', message: 'May I?', url: 'https://a.test/c' }
  const [words, data] = writeParts([{ kind: 'policy', policy }])
  expect(words).toEqual({ text: 'Wait\nMay I?\nhttps://a.test/c', mediaType: 'text/plain' })
  expect(data).toMatchObject({ data: { kind: 'policy', policy }, metadata: { mentionable: { kind: 'policy' } } })
})

test.each<[string, Part, object]>([
  [
    'begun',
    { kind: 'tool_call', id: '1', name: 'search', args: { q: 'x' } },
    { type: 'tool-call', toolCallId: '1', toolName: 'search', input: { q: 'x' } },
  ],
  [
    'ended',
    { kind: 'tool_call', id: '1', name: 'search', args: {}, result: [1] },
    { type: 'tool-result', toolCallId: '1', toolName: 'search', input: {}, output: [1] },
  ],
  [
    'failed',
    { kind: 'tool_call', id: '1', name: 'search', args: {}, error: { message: 'no' } },
    { type: 'tool-error', toolCallId: '1', toolName: 'search', input: {}, error: { message: 'no' } },
  ],
])('writeParts() formats a tool call that has %s, and readToolEvent() parses it (MN-4.2)', (_, part, data) => {
  const [wire = {}] = writeParts([part])
  expect(wire).toEqual({ data, mediaType: 'application/json', metadata: { mentionable: { kind: 'tool_call' } } })
  expect(readToolEvent(wire)).toEqual(part)
})

test.each([{ text: 'tool-call' }, { data: { type: 'tool-call' } }, { data: { type: 'constructor', toolCallId: '1' } }])(
  'readToolEvent() finds no event in %j',
  wire => {
    expect(readToolEvent(wire)).toBeUndefined()
  },
)

test('writeParts() sends a part as bytes if it claims to be JSON and is not', () => {
  const bytes_ref = { kind: 'inline', data_base64: Buffer.from('{oops').toString('base64') } as const
  const [wire] = writeParts([{ kind: 'artifact', artifact_type: 'data', bytes_ref }])
  expect(wire).toEqual({ raw: bytes_ref.data_base64 })
})

test('readParts() stores equal bytes under one digest', () => {
  const { parts, blobs } = readParts([{ raw: '-_8' }, { raw: '+/8=' }])
  expect(parts[0]).toEqual(parts[1])
  expect(blobs[0]?.digest).toBe(blobs[1]?.digest)
  expect(blobs[0]?.bytes).toEqual(Buffer.from([0xfb, 0xff]))
})

const bytes_ref = { kind: 'url', url: 'https://a.test/a.csv' } as const
const json = (data: unknown) => ({
  mime: 'application/json',
  data: data as never,
  bytes_ref: { kind: 'inline' as const, data_base64: Buffer.from(JSON.stringify(data)).toString('base64') },
})

test.each<[string, Part]>([
  ['a link with all it has', { kind: 'link', url: 'https://a.test/', title: 'A', description: 'first' }],
  ['a file with words for those who cannot see it', { kind: 'file', name: 'a.csv', description: 'a cat', bytes_ref }],
  ['an artifact of a type', { kind: 'artifact', artifact_type: 'table', description: 'sums', bytes_ref }],
  ['data', { kind: 'artifact', artifact_type: 'data', ...json({ a: [1, null] }) }],
  ['data of a type', { kind: 'artifact', artifact_type: 'chart', name: 'c', description: 'sums', ...json([1]) }],
])('writeParts() and readParts() keep %s unchanged', (_, part) => {
  expect(readParts(writeParts([part])).parts).toEqual([part])
})

test('writeParts() notes the type and the text of an artifact with stored bytes', () => {
  const storedBytes = { kind: 'content_addressed', algo: 'sha256', digest } as const
  const [wire = {}] = writeParts(
    [{ kind: 'artifact', artifact_type: 'table', description: 'sums', bytes_ref: storedBytes }],
    new Map([[digest, 'aGk=']]),
  )
  expect(wire.raw).toBe('aGk=')
  expect(readParts([wire]).parts).toMatchObject([{ kind: 'artifact', artifact_type: 'table', description: 'sums' }])
})

test.each([
  ['an address that is none of the web', { kind: 'link', url: 'javascript:alert(1)' }],
  ['no address', { kind: 'link' }],
  ['an address that is no text', { kind: 'link', url: ['https://a.test/'] }],
  ['an unknown kind', { kind: 'constructor', url: 'https://a.test/' }],
])('readParts() accepts a marked link whose text is %s', (_, mentionable) => {
  const { parts } = readParts([{ text: 'A', metadata: { mentionable } }])
  expect(parts).toEqual([{ kind: 'text', mime: 'text/plain', content: 'A' }])
})

test('readParts() ignores text about a part that is too long', () => {
  const noted = (length: number) => ({ mentionable: { kind: 'file', description: 'd'.repeat(length) } })
  const [fits, tooLong] = readParts([4_096, 4_097].map(length => ({ raw: '', metadata: noted(length) }))).parts
  expect(fits).toHaveProperty('description')
  expect(tooLong).not.toHaveProperty('description')
})

test('readKnownBytes() loads the bytes that fit one answer, each digest once, and omits the rest', async () => {
  const sizes: Readonly<Record<string, number>> = { first: 9, large: 8, last: 7 }
  const requestedDigests: string[] = []
  const findBlob = async (digest: string) => {
    requestedDigests.push(digest)
    const mebibytes = sizes[digest]
    return mebibytes === undefined ? undefined : { digest, bytes: new Uint8Array(mebibytes * 1024 * 1024) }
  }
  const digests = ['first', 'gone', 'large', 'first', 'last']
  const parts = digests.map(digest => {
    return { kind: 'file', bytes_ref: { kind: 'content_addressed', algo: 'sha256', digest } } as const
  })
  const bytesByDigest = await readKnownBytes({ findBlob }, parts)
  expect([...bytesByDigest.keys()]).toEqual(['first', 'last'])
  expect(requestedDigests).toEqual(['first', 'gone', 'large', 'last'])
})

test('writeParts() makes an agent’s data well-formed text', () => {
  const data_base64 = Buffer.from(String.raw`{"\ud83d":["\ude00"]}`).toString('base64')
  const [wire] = writeParts([{ kind: 'artifact', artifact_type: 'data', bytes_ref: { kind: 'inline', data_base64 } }])
  expect(wire).toMatchObject({ data: { '\ufffd': ['\ufffd'] } })
})
