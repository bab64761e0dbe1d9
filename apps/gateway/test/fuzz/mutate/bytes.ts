// Changes bytes at random.
import { makeOddText } from '../values/odd-values.ts'
import type { Random } from '../values/random.ts'

const oddPieces: readonly string[] = [
  '\r',
  '\n',
  '\r\n',
  '\r\n\r\n',
  '\n\n',
  '\r\r\n',
  '\0',
  '\xff\xfe',
  '.',
  '\r\n.\r\n',
  '\n.\n',
  '\r\n.\n',
  ':',
  ';',
  '"',
  '\\',
  '--',
  '=',
  '=\r\n',
  '=?utf-8?q?=zz?=',
  '=?x?b?////?=',
  '\x1b$B\x1b',
  '~{',
  '(((((',
  '<<>>',
  'Content-Type: multipart/mixed; boundary=""\r\n',
  'Content-Transfer-Encoding: base64\r\n',
  'From: <>\r\n',
]

type Change = (bytes: Buffer, random: Random) => Buffer

const cutAt = (bytes: Buffer, random: Random) => random.integerBelow(bytes.length + 1)
const insert = (bytes: Buffer, position: number, chunk: Buffer) =>
  Buffer.concat([bytes.subarray(0, position), chunk, bytes.subarray(position)])

function takeSlice(bytes: Buffer, random: Random): Buffer {
  const from = cutAt(bytes, random)
  return bytes.subarray(from, from + 1 + random.integerBelow(64))
}

const changes: readonly Change[] = [
  (bytes, random) => {
    const flipped = Buffer.from(bytes)
    const position = random.integerBelow(Math.max(1, flipped.length))
    if (flipped.length > 0) flipped[position] = (flipped[position] ?? 0) ^ (1 << random.integerBelow(8))
    return flipped
  },
  (bytes, random) => bytes.subarray(0, cutAt(bytes, random)),
  (bytes, random) => {
    const position = cutAt(bytes, random)
    return Buffer.concat([bytes.subarray(0, position), bytes.subarray(position + 1 + random.integerBelow(64))])
  },
  (bytes, random) => insert(bytes, cutAt(bytes, random), takeSlice(bytes, random)),
  (bytes, random) => {
    const slice = takeSlice(bytes, random)
    const times = random.pick([2, 100, 2_000])
    return insert(bytes, cutAt(bytes, random), Buffer.concat(Array.from({ length: times }, () => slice)))
  },
  (bytes, random) => insert(bytes, cutAt(bytes, random), Buffer.from(random.pick(oddPieces), 'latin1')),
  (bytes, random) => insert(bytes, cutAt(bytes, random), Buffer.from(makeOddText(random))),
  (bytes, random) =>
    Buffer.from(bytes.toString('latin1').replaceAll('\r\n', random.pick(['\n', '\r', '\n\r'])), 'latin1'),
]

/** Returns the bytes after one to four changes. */
export function mutateBytes(bytes: Buffer, random: Random): Buffer {
  let changedBytes = bytes
  for (let remainingCount = 1 + random.integerBelow(4); remainingCount > 0; remainingCount -= 1)
    changedBytes = random.pick(changes)(changedBytes, random)
  return changedBytes
}
