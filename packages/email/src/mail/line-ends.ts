// Converts the line ends of a message: DKIM hashes CRLF, and some servers hand over a bare LF.

const [LF, CR] = [0x0a, 0x0d]

/** Copies octets with CRLF line ends. `bareCount` is the number of LF without a CR before them. */
function copyWithCrlf(octets: Buffer, bareCount: number): Buffer {
  const result = Buffer.allocUnsafe(octets.length + bareCount)
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

/** Returns the message with CRLF for every bare LF, as DKIM hashes it. It returns the same buffer if there is none. */
export function toCrlf(octets: Buffer): Buffer {
  const bareCount = countBareLf(octets)
  return bareCount === 0 ? octets : copyWithCrlf(octets, bareCount)
}

function countBareLf(octets: Buffer): number {
  let count = 0
  for (let position = octets.indexOf(LF); position >= 0; position = octets.indexOf(LF, position + 1))
    if (octets[position - 1] !== CR) count += 1
  return count
}
