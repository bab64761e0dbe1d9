const [LF, CR, SPACE, TAB] = [0x0a, 0x0d, 0x20, 0x09]
const crlf = Buffer.from('\r\n')

/** Canonical bodies (RFC 6376 §3.4.3 and §3.4.4); line ends are CRLF, and a CR alone is text. */
export const canonicalBodies = { simple: simpleBody, relaxed: relaxBody } as const

function simpleBody(body: Buffer): Buffer {
  return withOneLineEnd(body)
}

export function relaxBody(body: Buffer): Buffer {
  const relaxed = withOneLineEnd(hasLooseSpace(body) ? relaxLines(body) : body)
  return relaxed.length === 2 ? relaxed.subarray(2) : relaxed
}

/** Without empty lines at the end, and with the end of the last line; a copy only where that is missing. */
function withOneLineEnd(body: Buffer): Buffer {
  let end = body.length
  while (end >= 2 && body[end - 1] === LF && body[end - 2] === CR) end -= 2
  return end < body.length ? body.subarray(0, end + 2) : Buffer.concat([body, crlf])
}

/** Whether relaxing would change a line. Most bodies are as they should be, and searching is faster than copying. */
function hasLooseSpace(body: Buffer): boolean {
  return body.includes('\t') || body.includes('  ') || body.includes(' \r\n') || body.at(-1) === SPACE
}

/** White space of any length becomes one space, and none before the end of a line. */
function relaxLines(body: Buffer): Buffer {
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
