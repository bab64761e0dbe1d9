import type { WireField } from './seeds.ts'

/** A message of protobuf: numbers as varints, texts and messages behind their length. */
export function writeMessage(fields: readonly WireField[]): Buffer {
  return Buffer.concat(fields.map(writeField))
}

function writeField([number, value]: WireField): Buffer {
  if (typeof value === 'number') return Buffer.concat([writeVarint(number * 8), writeVarint(value)])
  const bytes = typeof value === 'string' ? Buffer.from(value) : writeMessage(value)
  return Buffer.concat([writeVarint(number * 8 + 2), writeVarint(bytes.length), bytes])
}

function writeVarint(value: number): Buffer {
  const bytes: number[] = []
  let rest = value
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128)
  return Buffer.from([...bytes, rest])
}
