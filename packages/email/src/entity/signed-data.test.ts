import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readCms } from './signed-data.ts'

type EncodeElement = (tag: number, content: Buffer) => Buffer

const encodeDefinite: EncodeElement = (tag, content) => {
  const digits = content.length.toString(16)
  const length = Buffer.from(digits.padStart(digits.length + (digits.length % 2), '0'), 'hex')
  const lengthOctets = content.length < 0x80 ? Buffer.of(content.length) : Buffer.of(0x80 | length.length, ...length)
  return Buffer.concat([Buffer.of(tag), lengthOctets, content])
}
const encodeIndefinite: EncodeElement = (tag, content) =>
  tag & 0x20 ? Buffer.concat([Buffer.of(tag, 0x80), content, Buffer.of(0, 0)]) : encodeDefinite(tag, content)
const encodeObjectId = (hex: string) => encodeDefinite(0x06, Buffer.from(hex, 'hex'))

/** Writes a message of this kind with its content in these pieces. `write` encodes each element. */
function createMessage(write: EncodeElement, pieces: readonly Buffer[], kind = '2a864886f70d010702'): Buffer {
  const string =
    pieces.length === 1
      ? encodeDefinite(0x04, pieces[0] ?? Buffer.alloc(0))
      : write(0x24, Buffer.concat(pieces.map(piece => encodeDefinite(0x04, piece))))
  const info = write(0x30, Buffer.concat([encodeObjectId('2a864886f70d010701'), write(0xa0, string)]))
  const algorithms = write(0x31, write(0x30, encodeObjectId('608648016503040201')))
  const signed = write(
    0x30,
    Buffer.concat([encodeDefinite(0x02, Buffer.of(1)), algorithms, info, write(0x31, Buffer.alloc(0))]),
  )
  return write(0x30, Buffer.concat([encodeObjectId(kind), write(0xa0, signed)]))
}

const bytes = fc.uint8Array({ maxLength: 300 }).map(octets => Buffer.from(octets))

test('readCms() finds the content in DER and BER, whole or in chunks', () => {
  fc.assert(
    fc.property(
      fc.array(bytes, { minLength: 1, maxLength: 5 }),
      fc.constantFrom(encodeDefinite, encodeIndefinite),
      (pieces, writer) => {
        expect(readCms(createMessage(writer, pieces))).toEqual({ kind: 'signed-data', content: Buffer.concat(pieces) })
      },
    ),
  )
})

test('readCms() reads only the type of encrypted content', () => {
  expect(readCms(createMessage(encodeDefinite, [Buffer.from('x')], '2a864886f70d010703'))).toEqual({
    kind: 'enveloped-data',
  })
})

test('readCms() throws for no bytes, and finds all of a truncated content or nothing', () => {
  const signedData = createMessage(encodeIndefinite, [Buffer.from('a'), Buffer.from('b')])
  for (let end = 0; end < signedData.length; end += 1) {
    expect([undefined, 'ab']).toContain(readCms(signedData.subarray(0, end))?.content?.toString())
  }
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 60 }), octets => {
      const read = readCms(Buffer.from(octets))
      expect(read === undefined || read.kind !== undefined).toBe(true)
    }),
  )
})

test('readCms() stops at endlessly nested strings', () => {
  const deep = Buffer.concat([Buffer.alloc(100_000, Buffer.of(0x24, 0x80)), encodeDefinite(0x04, Buffer.from('x'))])
  const info = encodeIndefinite(
    0x30,
    Buffer.concat([encodeObjectId('2a864886f70d010701'), encodeIndefinite(0xa0, deep)]),
  )
  const signed = encodeIndefinite(
    0x30,
    Buffer.concat([encodeDefinite(0x02, Buffer.of(1)), encodeDefinite(0x31, Buffer.alloc(0)), info]),
  )
  const octets = encodeIndefinite(
    0x30,
    Buffer.concat([encodeObjectId('2a864886f70d010702'), encodeIndefinite(0xa0, signed)]),
  )
  expect(readCms(octets)).toEqual({ kind: 'signed-data', content: undefined })
})
