import { createHash } from 'node:crypto'

/** 100-nanosecond ticks between 1601 (Windows) and 1970 (Unix). */
const epochTicks = 116_444_736_000_000_000n

/**
 * Outlook's Thread-Index of an answer: that of the message and five octets more, the time between them and a few bits of chance ([MS-OXOMSG] §2.2.1.3).
 * Undefined when the message's is none.
 */
export function extendThreadIndex(
  index: string | undefined,
  { response, at }: { response: string; at: number },
): string | undefined {
  if (!index) return undefined
  const octets = Buffer.from(index, 'base64')
  if (octets.length < 22 || (octets.length - 22) % 5 !== 0 || octets.length > 500) return undefined
  const began = octets.readUIntBE(0, 6)
  const ticks = BigInt(at) * 10_000n + epochTicks - (BigInt(began) << 16n)
  const child = Buffer.alloc(5)
  child.writeUInt32BE(packDelta(ticks < 0n ? -ticks : ticks))
  // The same for the same answer, so that a second try sends the same octets.
  child[4] = createHash('sha256').update(response).digest()[0] ?? 0
  return Buffer.concat([octets, child]).toString('base64')
}

/** 31 bits of the difference: fine ones below about 1.8 years, marked coarse ones above. */
function packDelta(ticks: bigint): number {
  const isLong = ticks >> 49n > 0n
  const bits = Number((ticks >> (isLong ? 23n : 18n)) & 0x7fff_ffffn)
  return isLong ? bits + 0x8000_0000 : bits
}
