import { expect, test } from 'vitest'
import { mailLimitsSchema } from '../config/limits.ts'
import { scanHeaders } from '../mail/header.ts'
import { toCrlf } from '../mail/line-ends.ts'
import { readMailBody } from './read-body.ts'
import { readSimpleBody } from './simple-mail.ts'

const limits = mailLimitsSchema.parse({})

/** Pieces for each transfer encoding (RFC 2045 §6) that a careless decoder may read repeatedly. */
const pieces = {
  'quoted-printable': [' ', '\t', ' \t', '  x', '=', '=\r', '=\r\n', '=2', '=20', ' =\r\n', ' \r\n', '\r', '\u2028'],
  base64: ['A', ' ', '=', '!', 'A\r\n', 'QQ==\r\n', '=A', '\xff'],
  '7bit': [' ', '\t', '\r', '\r\n', ' \r\n', '>', '\0', 'x'],
  '8bit': ['ü', '\xff', ' '],
  binary: ['\0', '\r', '\n'],
  'x-uuencode': ['M', ' ', 'begin 644 a\r\n'],
} as const
type Encoding = keyof typeof pieces
const encodings = Object.keys(pieces) as Encoding[]
/** Types of texts, of a file, and of a text whose lines are joined (RFC 3676). */
const types = ['text/plain', 'text/html; charset=utf-8', 'application/pdf', 'text/plain; format=flowed; delsp=yes']
const cases = encodings.flatMap(encoding => types.map(type => ({ encoding, type })))

/** The largest accepted growth of the time per octet over three doublings. Twice the input may take three times as long. */
const maxGrowth = 1.5 ** 3

test.each(cases)('a body in $encoding of $type takes linear time', async ({ encoding, type }) => {
  const octets = 4 * 1024
  const readEightTimes = Array.from({ length: 8 }, () => createReading({ encoding, type, octets }))
  const readEightfold = [createReading({ encoding, type, octets: octets * 8 })]
  let growth = Number.POSITIVE_INFINITY
  // The best of three tries counts, because compilation and garbage collection may slow one down.
  for (let tries = 0; tries < 3 && growth >= maxGrowth; tries += 1) {
    let [small, large] = [0, 0]
    while (large < minMeasuredMs) {
      small += await measureCpuMs(readEightTimes)
      large += await measureCpuMs(readEightfold)
    }
    growth = large / small
  }
  expect(growth).toBeLessThan(maxGrowth)
})

/** The shortest total time that is measured, because the CPU clock advances in steps of some ms. */
const minMeasuredMs = 80

interface BodyCase {
  readonly encoding: Encoding
  readonly type: string
  /** The number of octets of each piece. */
  readonly octets: number
}

/** Returns a function that reads a message of such pieces in both ways: at once, and with the parser. */
function createReading({ encoding, type, octets }: BodyCase): () => Promise<void> {
  const fields = `Content-Type: ${type}\r\nContent-Transfer-Encoding: ${encoding}\r\n\r\n`
  const body = pieces[encoding].map(piece => piece.repeat(octets / piece.length)).join('x\r\n')
  const message = toCrlf(Buffer.from(`${fields}${body}x`))
  const header = scanHeaders(message, limits)
  const options = { keepsQuotes: false, isStructureUnsigned: false, limits }
  return async () => {
    await readSimpleBody(message, header, options)
    await readMailBody(message, header, options)
  }
}

/** Returns the CPU time of some runs in ms, which other programs do not affect. */
async function measureCpuMs(runs: readonly (() => Promise<void>)[]): Promise<number> {
  const start = process.threadCpuUsage()
  for (const run of runs) await run()
  const { user, system } = process.threadCpuUsage(start)
  return (user + system) / 1000
}
