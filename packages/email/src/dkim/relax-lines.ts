// Writes the relaxed form of body lines octet by octet (RFC 6376 §3.4.4).

const [LF, CR, SPACE, TAB] = [0x0a, 0x0d, 0x20, 0x09]

/** Replaces each run of white space with one space, and removes it at the end of a line. */
export function relaxLines(body: Buffer): Buffer {
  const relaxed = Buffer.allocUnsafe(body.length)
  let written = 0
  let isSpaced = false
  for (let at = 0; at < body.length; at += 1) {
    const octet = body[at] ?? 0
    if (octet === SPACE || octet === TAB) {
      isSpaced = true
      continue
    }
    if (isSpaced && !(octet === CR && body[at + 1] === LF)) {
      relaxed[written] = SPACE
      written += 1
    }
    isSpaced = false
    relaxed[written] = octet
    written += 1
  }
  return relaxed.subarray(0, written)
}
