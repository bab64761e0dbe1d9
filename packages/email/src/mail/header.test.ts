import { measureGrowth } from '@postern/testing/growth'
import { expect, test } from 'vitest'
import { scanHeaders } from './header.ts'

const limits = { field_bytes: 64 * 1024, header_bytes: 256 * 1024, fields: 1000 }
const scanHeader = (header: string) => scanHeaders(Buffer.from(`${header}\r\n\r\n`), limits)

test('scanHeaders() accepts a name with white space before its colon, if it ends within its line', () => {
  expect(scanHeader(`Subject ${' '.repeat(900)}: a`).fields).toMatchObject([{ name: 'subject', value: 'a' }])
  expect(() => scanHeader(`Subject${' '.repeat(992)}: a`)).toThrow('a header line is not a field')
})

test.each([' ', '\t', 'a', 'a '])('scanHeaders() takes linear time for a line of many "%s" before its colon', piece => {
  const run = (text: string) => expect(() => scanHeader(`a${text}b c:`)).toThrow('a header line is not a field')
  expect(measureGrowth(run, piece, 60_000)).toBeLessThan(24)
})
