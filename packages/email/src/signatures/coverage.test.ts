import { expect, test } from 'vitest'
import { mailLimitsSchema } from '../config/limits.ts'
import { scanHeaders } from '../mail/header.ts'
import { allowsAppendedText, readSharedCoverage, selectCovered } from './coverage.ts'

const scan = (...fields: readonly string[]) =>
  scanHeaders(Buffer.from(`${fields.join('\r\n')}\r\n\r\n`), mailLimitsSchema.parse({}))

const valuesOf = ({ fields }: ReturnType<typeof scan>) => fields.map(({ name, value }) => `${name}=${value}`)

test('a signature covers the lowest fields of a name, and not a field on top', () => {
  const header = scan('To: c@x', 'To: b@x', 'Cc: d@x', 'To: a@x')
  expect(valuesOf(selectCovered(header, ['to']))).toEqual(['to=a@x'])
  expect(valuesOf(selectCovered(header, ['to', 'to', 'cc']))).toEqual(['to=b@x', 'cc=d@x', 'to=a@x'])
})

test('the whole header counts if the delivering server is the proof', () => {
  const header = scan('To: a@x', 'Cc: b@x')
  expect(selectCovered(header, 'all')).toBe(header)
})

const signature = (domain: string, fields: string, tags = '') =>
  `DKIM-Signature: v=1; d=${domain}; s=s; h=${fields};${tags} b=x`

test('several signatures of an author share only their common fields, without other signatures', () => {
  const header = scan(
    signature('news.example.com', 'From:To : Subject:To'),
    signature('example.com', 'from:TO:Date'),
    signature('sender.example', 'from'),
  )
  expect(readSharedCoverage(header, 'example.com')).toEqual(['from', 'to'])
  expect(readSharedCoverage(header, 'example.org')).toBeUndefined()
})

test('an author’s signature with l= leaves the end open, and another domain’s does not', () => {
  const header = scan(signature('example.com', 'from', ' l=10;'))
  expect(allowsAppendedText(header, 'example.com')).toBe(true)
  expect(allowsAppendedText(header, 'example.org')).toBe(false)
  expect(allowsAppendedText(scan(signature('example.com', 'from')), 'example.com')).toBe(false)
})
