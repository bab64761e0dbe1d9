import { measureGrowth } from '@postern/testing/growth'
import { expect, test } from 'vitest'
import { normalizeRun } from './normalize.ts'

const owner = {
  owner: 'web:["https://id.test","ann"]',
  issuer: 'https://id.test',
  subject: 'ann',
  address: '@ann@web.test',
}
const names = { agent: 'chat', domain: 'agents.test', threadId: 't', runId: 'r', messageId: 'm' }
const content = { parts: [], blobs: [], warnings: [] }

function storeText(text: string): string {
  const { raw } = normalizeRun({
    ...names,
    owner,
    content,
    document: { text },
    formerIds: new Set(),
    arrival: {},
    receivedAt: 0,
  })
  return (JSON.parse(Buffer.from(raw.bytes).toString()) as { readonly text: string }).text
}

test.each([
  [
    'a signed URL',
    'see https://x.test/storage/v1/object/sign/b/p.png?token=a.b.c&x=1 there',
    'see /storage/v1/object/sign/b/p.png there',
  ],
  [
    'two in a row',
    'https://x.test/storage/v1/object/sign/b/1?token=a https://x.test/storage/v1/object/sign/b/2?token=b',
    '/storage/v1/object/sign/b/1 /storage/v1/object/sign/b/2',
  ],
  ['any other URL with a token', 'https://x.test/a?b=1&token=secret#d', 'https://x.test/a?b=1&token=#d'],
  ['any other URL', 'https://x.test/a?b=1', 'https://x.test/a?b=1'],
])('normalizeRun() stores %s without its access token', (_, text, kept) => {
  expect(storeText(text)).toBe(kept)
})

test.each([
  ['addresses without a token', 'http://a/storage/v1/object/sign/x'],
  ['places', '/storage/v1/object/sign/x'],
  ['beginnings', 'https://'],
  ['tokens', '?token=&token='],
  ['letters and a mark', 'a'],
])('normalizeRun() reads %s once, however many there are', (_, piece) => {
  expect(measureGrowth(text => storeText(`${text}!`), piece, 256 * 1024)).toBeLessThan(24)
})

test('normalizeRun() keeps only the ids of repeated messages, and complete new messages', () => {
  const say = (id: string) => ({ id, role: 'user', content: `words of ${id}` })
  const document = { threadId: 't', messages: [say('m1'), { role: 'user' }, say('m2')] }
  const { raw } = normalizeRun({
    ...names,
    owner,
    content,
    document,
    formerIds: new Set(['m1']),
    arrival: {},
    receivedAt: 0,
  })
  expect(JSON.parse(Buffer.from(raw.bytes).toString())).toEqual({
    threadId: 't',
    messages: [{ id: 'm1', role: 'user' }, { role: 'user' }, say('m2')],
  })
})
