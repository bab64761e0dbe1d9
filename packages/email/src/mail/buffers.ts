// Gives views and copies of the octets of a message.

/** Returns a view of the same memory, because Buffer has the fast searches. */
export function toBuffer(octets: Uint8Array): Buffer {
  return Buffer.from(octets.buffer, octets.byteOffset, octets.byteLength)
}

/** Returns the octets outside the ranges, in order. It copies them only if there are ranges. */
export function withoutRanges(octets: Buffer, ranges: readonly (readonly [start: number, end: number])[]): Buffer {
  if (ranges.length === 0) return octets
  const starts = [0, ...ranges.map(([, end]) => end)]
  const ends = [...ranges.map(([start]) => start), octets.length]
  return Buffer.concat(starts.map((start, index) => octets.subarray(start, ends[index])))
}
