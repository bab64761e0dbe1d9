import { expect, test } from 'vitest'
import { digestName } from './digest-name.ts'

test('digestName() returns the same digest for the same name, and the digest does not contain the name', () => {
  const digest = digestName('email @ada@mail.test')
  expect(digest).toMatch(/^sha256:[\w-]{43}$/)
  expect(digestName('email @ada@mail.test')).toBe(digest)
  expect(digestName('email @eve@mail.test')).not.toBe(digest)
})
