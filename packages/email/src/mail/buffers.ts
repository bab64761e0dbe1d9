// Views the octets of a message as a Buffer, and removes ranges from them.

/** Returns a Buffer over the same memory, because Buffer has fast searches. */
export function toBuffer(octets: Uint8Array): Buffer {
  return Buffer.from(octets.buffer, octets.byteOffset, octets.byteLength)
}

/** Returns the octets outside the ranges, in order. It copies them only if there are ranges. */
export function removeRanges(octets: Buffer, ranges: readonly (readonly [start: number, end: number])[]): Buffer {
  if (ranges.length === 0) return octets
  const starts = [0, ...ranges.map(([, end]) => end)]
  const ends = [...ranges.map(([start]) => start), octets.length]
  return Buffer.concat(starts.map((start, index) => octets.subarray(start, ends[index])))
}
