import { Unavailable, Undeliverable } from '@postern/message'
import { describe, expect, test } from 'vitest'
import { ResponseReader } from './response-reader.ts'

const maxBytes = 100
const maxIdleMs = 15_000

interface ReadOptions {
  readonly hasBody?: boolean
  readonly pieceSize?: number
  readonly endsAfter?: boolean
}

function readResponse(
  text: string,
  { hasBody = true, pieceSize = text.length, endsAfter = false }: ReadOptions = {},
): ResponseReader {
  const reader = new ResponseReader({ hasBody, maxBytes })
  const bytes = Buffer.from(text, 'latin1')
  for (let at = 0; at < bytes.length; at += pieceSize) reader.read(bytes.subarray(at, at + pieceSize))
  if (endsAfter) reader.end()
  return reader
}

function describeResponse(reader: ResponseReader) {
  const { status, headers, body } = reader.finish()
  const fields = [...headers].map(([name, value]) => `${name}: ${value}`).join(', ')
  return { status, fields, body: Buffer.from(body).toString() }
}

const head = 'HTTP/1.1 200 OK\r\n'
const chunked = `${head}transfer-encoding: chunked\r\n\r\n`

interface CompleteResponse {
  readonly text: string
  readonly status: number
  readonly fields: string
  readonly body: string
  readonly options?: ReadOptions
}

const complete: readonly CompleteResponse[] = [
  { text: `${head}content-length: 5\r\n\r\nhello`, status: 200, fields: 'content-length: 5', body: 'hello' },
  { text: 'HTTP/1.1 202\r\nContent-Length:0\r\n\r\n', status: 202, fields: 'content-length: 0', body: '' },
  { text: 'HTTP/1.1 204 No Content\r\n\r\n', status: 204, fields: '', body: '' },
  { text: 'HTTP/1.1 304 Not\r\ncontent-length: 9\r\n\r\n', status: 304, fields: 'content-length: 9', body: '' },
  {
    text: `${head}content-length: 9\r\n\r\n`,
    ...{ status: 200, fields: 'content-length: 9', body: '', options: { hasBody: false } },
  },
  {
    text: `${head}x: a\r\nx:  b \r\nlength: 1\r\n\r\nend`,
    ...{ status: 200, fields: 'length: 1, x: a, b', body: 'end', options: { endsAfter: true } },
  },
  {
    text: `${head}x: a\r\n b\r\n\tc\r\ncontent-length: 0\r\n\r\n`,
    ...{ status: 200, fields: 'content-length: 0, x: a b c', body: '' },
  },
  {
    text: `${head}x: \xe9\r\ncontent-length: 0\r\n\r\n`,
    ...{ status: 200, fields: 'content-length: 0, x: é', body: '' },
  },
  {
    text: `${chunked}5\r\nhello\r\n00A;a=b\r\n, it is me\r\n0\r\n\r\n`,
    ...{ status: 200, fields: 'transfer-encoding: chunked', body: 'hello, it is me' },
  },
  {
    text: `${chunked}1\r\na\r\n0\r\nx-check: 1\r\ny: 2\r\n\r\n`,
    ...{ status: 200, fields: 'transfer-encoding: chunked', body: 'a' },
  },
  {
    text: `HTTP/1.1 103 Early Hints\r\nlink: a\r\n\r\nHTTP/1.1 100\r\n\r\n${head}content-length: 1\r\n\r\na`,
    ...{ status: 200, fields: 'content-length: 1', body: 'a' },
  },
]

describe.each([Number.POSITIVE_INFINITY, 1, 2, 7])('in pieces of %d bytes', pieceSize => {
  test.each(complete)('ResponseReader reads $text', ({ text, options, ...response }) => {
    const reader = readResponse(text, { ...options, pieceSize: Math.min(pieceSize, text.length) })
    expect([reader.isComplete, reader.hasHead]).toEqual([true, true])
    expect(describeResponse(reader)).toEqual(response)
  })

  test.each(complete.filter(({ options }) => !options))(
    'ResponseReader waits for the last byte of $text',
    ({ text }) => {
      const beginning = text.slice(0, -1)
      const reader = readResponse(beginning, { pieceSize: Math.min(pieceSize, beginning.length), endsAfter: true })
      expect(reader.isComplete).toBe(false)
    },
  )

  test.each([
    ['another protocol', 'SSH-2.0-OpenSSH_9.6\r\n'],
    ['another version', 'HTTP/2.0 200 OK\r\n\r\n'],
    ['a status of two digits', 'HTTP/1.1 20 OK\r\n\r\n'],
    ['a line end without a carriage return', `${head}x: a\ny: b\r\n\r\n`],
    ['a bare carriage return in a value', `${head}x: a\rb\r\n\r\n`],
    ['a NUL in a value', `${head}x: a\0\r\n\r\n`],
    ['a space before the colon', `${head}content-length : 1\r\n\r\na`],
    ['a line without a colon', `${head}content-length\r\n\r\n`],
    ['an empty name', `${head}: a\r\n\r\n`],
    ['two lengths', `${head}content-length: 1\r\ncontent-length: 2\r\n\r\nab`],
    ['a length and chunks', `${head}content-length: 1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`],
    ['a negative length', `${head}content-length: -1\r\n\r\n`],
    ['a length in hexadecimal', `${head}content-length: 0x1\r\n\r\na`],
    ['a chunk without a size', `${chunked}\r\na`],
    ['a chunk size with a sign', `${chunked}+1\r\na\r\n0\r\n\r\n`],
    ['a chunk that is longer than its size', `${chunked}1\r\nab\r\n0\r\n\r\n`],
    ['a chunk size that ends without a carriage return', `${chunked}1\na\r\n0\r\n\r\n`],
    ['a chunk line without end', `${chunked}1;${'a'.repeat(1_100)}`],
    ['trailers without end', `${chunked}0\r\n${'x: a\r\n'.repeat(6_000)}`],
  ])('ResponseReader refuses %s', (_, text) => {
    expect(() => readResponse(text, { pieceSize: Math.min(pieceSize, text.length) })).toThrow(
      new Unavailable('Cannot fetch: answer is not HTTP'),
    )
  })

  test.each([
    ['a head that is too long', `${head}${'x: aaaa\r\n'.repeat(4_000)}\r\n`, 'answer headers are too large'],
    [
      'a declared body that is too long',
      `${head}content-length: 101\r\n\r\n`,
      'answer is too large: 101 bytes, more than 100',
    ],
    [
      'chunks that are too long',
      `${chunked}${'30\r\n'}${'a'.repeat(48)}\r\nffffffff\r\n${'a'.repeat(53)}`,
      'answer is too large: more than 100 bytes',
    ],
    [
      'a body until the end that is too long',
      `${head}\r\n${'a'.repeat(101)}`,
      'answer is too large: more than 100 bytes',
    ],
  ])('ResponseReader refuses %s', (_, text, problem) => {
    expect(() => readResponse(text, { pieceSize: Math.min(pieceSize, text.length) })).toThrow(
      new Undeliverable(`Cannot fetch: ${problem}`),
    )
  })
})

test.each([
  [maxIdleMs, `${head}content-length: 0\r\n\r\n`],
  [0, `${head}content-length: 0\r\nconnection: Close\r\n\r\n`],
  [0, 'HTTP/1.0 200 OK\r\ncontent-length: 0\r\n\r\n'],
  [maxIdleMs, 'HTTP/1.0 200 OK\r\ncontent-length: 0\r\nconnection: keep-alive\r\n\r\n'],
  [4_000, `${head}content-length: 0\r\nkeep-alive: timeout=5, max=9\r\n\r\n`],
  [maxIdleMs, `${head}content-length: 0\r\nkeep-alive: timeout=600\r\n\r\n`],
  [0, `${head}content-length: 0\r\nkeep-alive: timeout=1\r\n\r\n`],
  [0, `${head}content-length: 1\r\n\r\nab`],
  [0, `${head}\r\nuntil the end`],
])('ResponseReader keeps a connection for %d ms after %j', (idleMs, text) => {
  expect(readResponse(text, { endsAfter: true }).countIdleMs(maxIdleMs)).toBe(idleMs)
})
