// Converts the line ends of a message: DKIM hashes CRLF, and some servers hand over a bare LF.

const [LF, CR] = [0x0a, 0x0d]

/** Copies octets with CRLF line ends. `bare` is the number of LF without a CR before them. */
function copyWithCrlf(octets: Buffer, bare: number): Buffer {
  const rewritten = Buffer.allocUnsafe(octets.length + bare)
  let written = 0
  for (let at = 0; at < octets.length; at += 1) {
    const octet = octets[at] ?? 0
    if (octet === LF && octets[at - 1] !== CR) {
      rewritten[written] = CR
      written += 1
    }
    rewritten[written] = octet
    written += 1
  }
  return rewritten
}

/** Returns the message with CRLF for every bare LF, as DKIM hashes it. It returns the same buffer if there is none. */
export function toCrlf(octets: Buffer): Buffer {
  const bare = countBareLf(octets)
  return bare === 0 ? octets : copyWithCrlf(octets, bare)
}

function countBareLf(octets: Buffer): number {
  let count = 0
  for (let at = octets.indexOf(LF); at >= 0; at = octets.indexOf(LF, at + 1)) if (octets[at - 1] !== CR) count += 1
  return count
}
