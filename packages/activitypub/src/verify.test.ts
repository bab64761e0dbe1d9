import { expect, test } from 'vitest'
import { peekClaims } from './verify.ts'

const peek = (text: string) => peekClaims(Buffer.from(text))

test('peekClaims() reads `id` and `actor` from the first bytes, and only if they are URLs', () => {
  const note = {
    '@context': ['https://www.w3.org/ns/activitystreams'],
    id: 'https://a.test/1',
    actor: 'https://a.test/u',
  }
  expect(peek(JSON.stringify(note))).toEqual({ peer_id: 'https://a.test/1', claimed_sender: 'https://a.test/u' })
  expect(peek(JSON.stringify(note, null, 2))).toEqual(peek(JSON.stringify(note)))
  expect(peek('{"id":"javascript:x","actor":7')).toEqual({})
  expect(peek(`${' '.repeat(3_000)}${JSON.stringify(note)}`)).toEqual({})
  expect(peekClaims(new Uint8Array([0xff, 0, 0x22]))).toEqual({})
})
