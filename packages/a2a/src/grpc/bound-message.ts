import { BinaryReader } from '@bufbuild/protobuf/wire'
import { A2aRejection } from '../format/errors.ts'

/** The field numbers of a message that contain messages. */
interface Shape {
  readonly [field: number]: Shape
}

const leaf: Shape = {}

/** google.protobuf.Value, which can contain itself: in a Struct (5) or in a ListValue (6). */
const value = createValueShape()
const struct: Shape = { 1: { 2: value } }
const part: Shape = { 4: value, 5: struct }
const message: Shape = { 5: part, 6: struct }

/** SendMessageRequest; no other request contains anything that may grow. */
export const sendShape: Shape = { 2: message, 3: leaf, 4: struct }

function createValueShape(): Shape {
  const shape: { [field: number]: Shape } = {}
  shape[5] = { 1: { 2: shape } }
  shape[6] = { 1: shape }
  return shape
}

/** Four fields are one member of a Struct. The bounds for JSON are exact; these only refuse absurd messages before reading. */
const maxFields = 200_000
/** A Struct within a Struct is three deeper. */
const maxDepth = 200

/**
 * Checks a message's bytes before it is read: many tiny fields cost a reader far more than their bytes. @throws A2aRejection
 * `invalidParams` for too many or too deep fields; an error for an invalid message
 */
export function checkMessageBounds(bytes: Uint8Array, shape: Shape = leaf): void {
  const reader = new BinaryReader(bytes)
  let left = maxFields
  const walk = (end: number, inside: Shape, depth: number): void => {
    if (depth > maxDepth) throw refuseMessage('it is nested too deep')
    while (reader.pos < end) {
      left -= 1
      if (left < 0) throw refuseMessage(`more than ${maxFields} fields`)
      const [field, type] = reader.tag()
      const within = type === lengthDelimited ? inside[field] : undefined
      if (within) walk(takeEnd(reader, end), within, depth + 1)
      else reader.skip(type, field)
    }
  }
  walk(reader.len, shape, 0)
}

const lengthDelimited = 2

function takeEnd(reader: BinaryReader, end: number): number {
  const size = reader.uint32()
  if (reader.pos + size > end) throw new RangeError('a field is longer than its message')
  return reader.pos + size
}

function refuseMessage(problem: string): A2aRejection {
  return new A2aRejection('invalidParams', `Cannot read request: ${problem}`)
}
