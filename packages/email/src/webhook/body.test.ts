import { expect, test } from 'vitest'
import { parseForm } from './body.ts'

const headers = new Headers({ 'content-type': 'multipart/form-data; boundary=b' })
const listFieldNames = (disposition: string) => [
  ...parseForm(headers, Buffer.from(`--b\r\nContent-Disposition: ${disposition}\r\n\r\nvalue\r\n--b--\r\n`)).keys(),
]

test.each([
  ['form-data; name="email"', ['email']],
  ['form-data; name=email', ['email']],
  ['form-data; filename="; name=email"; name="file"', ['file']],
  ['form-data; filename="\\"; name=email"; name="file"', ['file']],
  ['form-data; name="file"; filename="; name=email"', ['file']],
  ['form-data; filename="; name=email"', []],
])('a file name does not name another field: %s (EM-71)', (disposition, names) => {
  expect(listFieldNames(disposition)).toEqual(names)
})
