import { expect, test } from 'vitest'
import { mailLimitsSchema } from '../config/limits.ts'
import { scanHeaders } from '../mail/header.ts'
import { allowsAppendedText, readSharedCoverage, selectCovered } from './coverage.ts'

const scanFields = (...fields: readonly string[]) =>
  scanHeaders(Buffer.from(`${fields.join('\r\n')}\r\n\r\n`), mailLimitsSchema.parse({}))

const listFields = ({ fields }: ReturnType<typeof scanFields>) => fields.map(({ name, value }) => `${name}=${value}`)

test('a signature covers the lowest fields of a name, and not a field on top', () => {
  const header = scanFields('To: c@x', 'To: b@x', 'Cc: d@x', 'To: a@x')
  expect(listFields(selectCovered(header, ['to']))).toEqual(['to=a@x'])
  expect(listFields(selectCovered(header, ['to', 'to', 'cc']))).toEqual(['to=b@x', 'cc=d@x', 'to=a@x'])
})

test('the whole header counts if the delivering server is the proof', () => {
  const header = scanFields('To: a@x', 'Cc: b@x')
  expect(selectCovered(header, 'all')).toBe(header)
})

const signature = (domain: string, fields: string, tags = '') =>
  `DKIM-Signature: v=1; d=${domain}; s=s; h=${fields};${tags} b=x`

test('several signatures of an author share only their common fields, without other signatures', () => {
  const header = scanFields(
    signature('news.example.com', 'From:To : Subject:To'),
    signature('example.com', 'from:TO:Date'),
    signature('sender.example', 'from'),
  )
  expect(readSharedCoverage(header, 'example.com')).toEqual(['from', 'to'])
  expect(readSharedCoverage(header, 'example.org')).toBeUndefined()
})

test('an author’s signature with l= allows appended text, and a signature of another domain does not matter', () => {
  const header = scanFields(signature('example.com', 'from', ' l=10;'))
  expect(allowsAppendedText(header, 'example.com')).toBe(true)
  expect(allowsAppendedText(header, 'example.org')).toBe(false)
  expect(allowsAppendedText(scanFields(signature('example.com', 'from')), 'example.com')).toBe(false)
})
