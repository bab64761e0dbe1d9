import { expect, test } from 'vitest'
import { formatRequest, parseAnswer } from './message.ts'

const responseWithLength = 'HTTP/1.1 202 Accepted\r\nContent-Length: 2\r\n\r\nok'
const chunkedResponse = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n1\r\nd\r\n0\r\n\r\n'

test.each([
  ['a body of known length', responseWithLength, 202, 'ok'],
  ['no body', 'HTTP/1.1 202 Accepted\r\nDate: now\r\n\r\n', 202, ''],
  ['chunks', chunkedResponse, 200, 'abcd'],
])('parseAnswer() parses a response with %s and returns where it ends', (_, text, status, body) => {
  const answer = parseAnswer(Buffer.from(`${text}HTTP/1.1 404`))
  expect(answer).toMatchObject({ status, end: text.length })
  expect(answer?.body.toString()).toBe(body)
})

test.each([
  ['a body of known length', responseWithLength],
  ['chunks', chunkedResponse],
])('parseAnswer() waits for the remaining bytes of %s', (_, text) => {
  for (let length = 0; length < text.length; length++) {
    expect(parseAnswer(Buffer.from(text.slice(0, length)))).toBeUndefined()
  }
})

test('formatRequest() writes the length of the body and ends the header', () => {
  const bytes = formatRequest('/inbox', { host: 'agents.test' }, Buffer.from('{}'))
  expect(Buffer.from(bytes).toString()).toBe('POST /inbox HTTP/1.1\r\nhost: agents.test\r\ncontent-length: 2\r\n\r\n{}')
})
