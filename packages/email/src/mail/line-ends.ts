// Converts the line ends of a message: DKIM hashes CRLF, and some servers hand over a bare LF.

const [LF, CR] = [0x0a, 0x0d]

/** Copies octets with CRLF line ends. `bareLfCount` is the number of line feeds without a CR before them. */
function copyWithCrlf(octets: Buffer, bareLfCount: number): Buffer {
  const result = Buffer.allocUnsafe(octets.length + bareLfCount)
  let length = 0
  for (let index = 0; index < octets.length; index += 1) {
    const octet = octets[index] ?? 0
    if (octet === LF && octets[index - 1] !== CR) {
      result[length] = CR
      length += 1
    }
    result[length] = octet
    length += 1
  }
  return result
}

/**
 * Returns the message with CRLF in place of every bare LF, which is the form that DKIM hashes. It returns the same
 * buffer if there is no bare LF.
 */
export function toCrlf(octets: Buffer): Buffer {
  const bareLfCount = countBareLf(octets)
  return bareLfCount === 0 ? octets : copyWithCrlf(octets, bareLfCount)
}

function countBareLf(octets: Buffer): number {
  let count = 0
  for (let position = octets.indexOf(LF); position >= 0; position = octets.indexOf(LF, position + 1))
    if (octets[position - 1] !== CR) count += 1
  return count
}
