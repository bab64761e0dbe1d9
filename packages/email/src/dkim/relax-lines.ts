// Writes the relaxed form of body lines octet by octet (RFC 6376 §3.4.4).

const [LF, CR, SPACE, TAB] = [0x0a, 0x0d, 0x20, 0x09]

/** Replaces each run of white space with one space, and removes white space at the end of a line. */
export function relaxLines(body: Buffer): Buffer {
  const relaxedOctets = Buffer.allocUnsafe(body.length)
  let length = 0
  let hasPendingSpace = false
  for (let index = 0; index < body.length; index += 1) {
    const octet = body[index] ?? 0
    if (octet === SPACE || octet === TAB) {
      hasPendingSpace = true
      continue
    }
    if (hasPendingSpace && !(octet === CR && body[index + 1] === LF)) {
      relaxedOctets[length] = SPACE
      length += 1
    }
    hasPendingSpace = false
    relaxedOctets[length] = octet
    length += 1
  }
  return relaxedOctets.subarray(0, length)
}
