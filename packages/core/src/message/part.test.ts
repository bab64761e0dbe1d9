import { describe, expect, test } from 'vitest'
import type { Part } from './part.ts'
import { partSchema } from './part.ts'
import { plainTextOf } from './response.ts'

const digest = 'ab'.repeat(32)

const good: readonly (readonly [what: string, part: unknown])[] = [
  ['plain text', { kind: 'text', mime: 'text/plain', content: '' }],
  ['markdown', { kind: 'text', mime: 'text/markdown', content: '*hi*' }],
  ['HTML', { kind: 'text', mime: 'text/html', content: '<p>hi</p>' }],
  ['a link', { kind: 'link', url: 'https://peer.test/', title: 'Peer', description: 'A page' }],
  ['inline bytes (MN-4.1)', { kind: 'file', name: 'a', bytes_ref: { kind: 'inline', data_base64: 'YQ==' } }],
  ['bytes behind a URL', { kind: 'file', bytes_ref: { kind: 'url', url: 'https://peer.test/a', expires_at: 'soon' } }],
  ['bytes by digest', { kind: 'file', size: 1, bytes_ref: { kind: 'content_addressed', algo: 'sha256', digest } }],
  ['an artifact', { kind: 'artifact', artifact_type: 'table', bytes_ref: { kind: 'inline', data_base64: '' } }],
  ['a begun tool call (MN-4.2)', { kind: 'tool_call', id: '1', name: 'look', args: { q: 'x' } }],
  ['an ended tool call', { kind: 'tool_call', id: '1', name: 'look', result: null }],
  ['a failed tool call', { kind: 'tool_call', id: '1', name: 'look', error: { message: 'no' } }],
  ['a requirement', { kind: 'policy', policy: { kind: 'forbidden', message: 'No.' } }],
  [
    'a requirement of an unknown kind',
    { kind: 'policy', policy: { kind: 'dance_first', message: 'Dance.', steps: 3 } },
  ],
  ['an unknown part', { kind: 'poll', options: [1, 2], more: { any: 'thing' } }],
]

const bad: readonly (readonly [what: string, part: unknown])[] = [
  ['no kind (MN-4)', { content: 'hi' }],
  ['a kind that is no text', { kind: 1 }],
  ['text without content', { kind: 'text', mime: 'text/plain' }],
  ['text of a strange type', { kind: 'text', mime: 'text/rtf', content: 'hi' }],
  ['a link without URL', { kind: 'link', title: 'Peer' }],
  ['a file without bytes', { kind: 'file', name: 'a' }],
  ['a file with broken base64', { kind: 'file', bytes_ref: { kind: 'inline', data_base64: 'a b' } }],
  ['a file behind no URL', { kind: 'file', bytes_ref: { kind: 'url', url: 'here' } }],
  [
    'a digest in capitals',
    { kind: 'file', bytes_ref: { kind: 'content_addressed', algo: 'sha256', digest: digest.toUpperCase() } },
  ],
  ['a digest too short', { kind: 'file', bytes_ref: { kind: 'content_addressed', algo: 'sha256', digest: 'ab' } }],
  ['another digest', { kind: 'file', bytes_ref: { kind: 'content_addressed', algo: 'md5', digest } }],
  ['bytes of an unknown kind', { kind: 'file', bytes_ref: { kind: 'floppy' } }],
  ['a tool call without id', { kind: 'tool_call', name: 'look' }],
  ['a failed tool call without its reason', { kind: 'tool_call', id: '1', name: 'look', error: {} }],
  ['a requirement without message (MN-7.1)', { kind: 'policy', policy: { kind: 'forbidden' } }],
  ['a requirement that is not nested', { kind: 'policy', message: 'No.' }],
  [
    'a requirement that leads to plain HTTP',
    { kind: 'policy', policy: { kind: 'x', message: 'x', url: 'http://peer.test/' } },
  ],
  [
    'a requirement that leads into a script',
    { kind: 'policy', policy: { kind: 'x', message: 'x', url: 'javascript:alert(1)' } },
  ],
]

describe('partSchema', () => {
  test.each(good)('keeps %s as it is', (_what, part) => {
    expect(partSchema.parse(part)).toEqual(part)
  })

  test.each(bad)('refuses %s', (_what, part) => {
    expect(partSchema.safeParse(part).success).toBe(false)
  })
})

describe('plainTextOf()', () => {
  test('reads texts, links and requirements, and passes over the rest', () => {
    const parts: Part[] = [
      { kind: 'text', mime: 'text/plain', content: 'one' },
      { kind: 'link', url: 'https://peer.test/', title: 'Peer' },
      { kind: 'link', url: 'https://bare.test/' },
      { kind: 'file', bytes_ref: { kind: 'inline', data_base64: 'YQ==' } },
      { kind: 'tool_call', id: '1', name: 'look' },
      { kind: 'policy', policy: { kind: 'forbidden', message: 'No.' } },
    ]
    expect(plainTextOf(parts)).toBe('one\n\nPeer: https://peer.test/\n\nhttps://bare.test/\n\nNo.')
    expect(plainTextOf([])).toBe('')
  })
})
