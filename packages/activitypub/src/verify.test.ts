import { expect, test } from 'vitest'
import { readUnverifiedClaims } from './verify.ts'

const peek = (text: string) => readUnverifiedClaims(Buffer.from(text))

test('readUnverifiedClaims() reads `id` and `actor` from the first bytes, and only if they are URLs', () => {
  const activity = {
    '@context': ['https://www.w3.org/ns/activitystreams'],
    id: 'https://a.test/1',
    actor: 'https://a.test/u',
  }
  expect(peek(JSON.stringify(activity))).toEqual({ peer_id: 'https://a.test/1', claimed_sender: 'https://a.test/u' })
  expect(peek(JSON.stringify(activity, null, 2))).toEqual(peek(JSON.stringify(activity)))
  expect(peek('{"id":"javascript:x","actor":7')).toEqual({})
  expect(peek(`${' '.repeat(3_000)}${JSON.stringify(activity)}`)).toEqual({})
  expect(readUnverifiedClaims(new Uint8Array([0xff, 0, 0x22]))).toEqual({})
})
