import { expect, test } from 'vitest'
import { parseUrl } from './web-url.ts'

const host253 = `${'a'.repeat(61)}.`.repeat(4).slice(0, -1).padEnd(253, '.bcdefg')

test('parseUrl() accepts at most 2,048 characters and a host of 253 bytes, with or without a trailing dot', () => {
  expect(host253).toHaveLength(253)
  expect(parseUrl(`https://${host253}/`)?.hostname).toBe(host253)
  expect(parseUrl(`https://${host253}./`)?.hostname).toBe(`${host253}.`)
  expect(parseUrl(`https://${host253}h/`)).toBeUndefined()
  expect(parseUrl('https://a.test/'.padEnd(2_048, 'a'))?.href).toHaveLength(2_048)
  expect(parseUrl('https://a.test/'.padEnd(2_049, 'a'))).toBeUndefined()
  expect(parseUrl('https://a.test/'.padEnd(2_049, '\t'))).toBeUndefined()
})

test('parseUrl() refuses a URL that is too long in normal form, and a relative one without a base', () => {
  expect(parseUrl(`https://a.test/${'ü'.repeat(1_000)}`)).toBeUndefined()
  expect(parseUrl('/a')).toBeUndefined()
  expect(parseUrl('/a', 'https://a.test/b')?.href).toBe('https://a.test/a')
})

test('parseUrl() gives the same object for the same short text, and forgets the oldest', () => {
  const url = parseUrl('https://remembered.test/')
  expect(parseUrl('https://remembered.test/')).toBe(url)
  expect(parseUrl('https://remembered.test/', 'https://a.test/')).not.toBe(url)
  for (let count = 0; count < 600; count += 1) parseUrl(`https://remembered.test/${count}`)
  expect(parseUrl('https://remembered.test/')).not.toBe(url)
})
