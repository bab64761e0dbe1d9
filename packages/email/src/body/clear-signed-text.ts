// Reads the text inside the cleartext signatures of OpenPGP (RFC 9580 §7).

const [messageStart, signatureStart, signatureEnd] = [
  '-----BEGIN PGP SIGNED MESSAGE-----',
  '-----BEGIN PGP SIGNATURE-----',
  '-----END PGP SIGNATURE-----',
]
/** Matches a header such as `Hash: SHA512`, above the empty line that ends the header (RFC 9580 §6.2.2.1). */
const armourHeader = /^[A-Za-z][\w-]{0,30}: /
/** Matches a line of base64, or the checksum that old programs add. */
const armourLine = /^[A-Za-z0-9+/]*={0,2}$|^=[A-Za-z0-9+/]{4}$/

interface ClearSignedText {
  readonly text: string
  readonly isSigned: boolean
}

/**
 * Returns a text without the armour around signed lines, and with these lines unescaped. Text outside the armour is
 * unchanged, and so is a text whose signature is missing. The signature is not verified.
 */
export function readClearSignedText(text: string): ClearSignedText {
  if (!text.includes(messageStart)) return { text, isSigned: false }
  const lines = text.split('\n')
  const textLines: (readonly string[])[] = []
  let isSigned = false
  for (let index = 0; index < lines.length; ) {
    const start = findLine(lines, messageStart, index)
    const end = start < 0 ? -1 : findLine(lines, signatureStart, start + 1)
    if (end < 0) {
      textLines.push(lines.slice(index))
      break
    }
    isSigned = true
    textLines.push(lines.slice(index, start), lines.slice(skipHeader(lines, start + 1), end).map(unescapeDashes))
    index = skipSignature(lines, end + 1)
  }
  return { text: textLines.flat().join('\n'), isSigned }
}

function findLine(lines: readonly string[], mark: string, start: number): number {
  for (let index = start; index < lines.length; index += 1) if (lines[index]?.trimEnd() === mark) return index
  return -1
}

function skipHeader(lines: readonly string[], start: number): number {
  let index = start
  while (armourHeader.test(lines[index] ?? '')) index += 1
  return lines[index]?.trim() === '' ? index + 1 : index
}

/**
 * Finds the line after a signature. A signature without an end extends as far as its lines look like base64 or a
 * header.
 */
function skipSignature(lines: readonly string[], start: number): number {
  for (let index = start; index < lines.length; index += 1) {
    const line = (lines[index] ?? '').trim()
    if (line === signatureEnd) return index + 1
    if (!armourLine.test(line) && !armourHeader.test(line)) return index
  }
  return lines.length
}

/** Removes the dash and the space that are put before a signed line that begins with a dash (RFC 9580 §7.2). */
function unescapeDashes(line: string): string {
  return line.startsWith('- ') ? line.slice(2) : line
}
