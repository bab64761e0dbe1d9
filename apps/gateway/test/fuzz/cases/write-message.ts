// Encodes protobuf messages.
import type { WireField } from './seeds.ts'

/** Encodes a message: numbers as varints, texts and nested messages after their length. */
export function writeMessage(fields: readonly WireField[]): Buffer {
  return Buffer.concat(fields.map(writeField))
}

function writeField([fieldNumber, value]: WireField): Buffer {
  if (typeof value === 'number') return Buffer.concat([writeVarint(fieldNumber * 8), writeVarint(value)])
  const bytes = typeof value === 'string' ? Buffer.from(value) : writeMessage(value)
  return Buffer.concat([writeVarint(fieldNumber * 8 + 2), writeVarint(bytes.length), bytes])
}

function writeVarint(value: number): Buffer {
  const bytes: number[] = []
  let remaining = value
  for (; remaining >= 128; remaining = Math.floor(remaining / 128)) bytes.push((remaining % 128) + 128)
  return Buffer.from([...bytes, remaining])
}
