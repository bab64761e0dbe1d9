const [LF, CR] = [0x0a, 0x0d]

/** The message with every bare LF made CRLF, as DKIM hashes it; the same buffer when there is none. */
export function toCrlf(octets: Buffer): Buffer {
  const bare = countBareLf(octets)
  if (bare === 0) return octets
  const whole = Buffer.allocUnsafe(octets.length + bare)
  let written = 0
  for (let at = 0; at < octets.length; at += 1) {
    const octet = octets[at] ?? 0
    if (octet === LF && octets[at - 1] !== CR) {
      whole[written] = CR
      written += 1
    }
    whole[written] = octet
    written += 1
  }
  return whole
}

function countBareLf(octets: Buffer): number {
  let count = 0
  for (let at = octets.indexOf(LF); at >= 0; at = octets.indexOf(LF, at + 1)) if (octets[at - 1] !== CR) count += 1
  return count
}
