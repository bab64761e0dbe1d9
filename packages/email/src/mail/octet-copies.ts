const [LF, CR, SPACE, TAB] = [0x0a, 0x0d, 0x20, 0x09]

/** White space of any length becomes one space, and none before the end of a line. */
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

/** `bare`: how many LF have no CR before them. */
export function copyWithCrlf(octets: Buffer, bare: number): Buffer {
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
