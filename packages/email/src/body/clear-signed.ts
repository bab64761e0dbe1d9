// Reads the text inside the cleartext signatures of OpenPGP (RFC 9580 §7).

const [opening, signature, closing] = [
  '-----BEGIN PGP SIGNED MESSAGE-----',
  '-----BEGIN PGP SIGNATURE-----',
  '-----END PGP SIGNATURE-----',
]
/** Matches a header such as `Hash: SHA512`, above the empty line that ends the header (RFC 9580 §6.2.2.1). */
const armourHeader = /^[A-Za-z][\w-]{0,30}: /
/** Matches base64, and the checksum of old programs. */
const armoured = /^[A-Za-z0-9+/]*={0,2}$|^=[A-Za-z0-9+/]{4}$/

interface ClearSigned {
  readonly text: string
  readonly isSigned: boolean
}

/**
 * Returns a text without the armour around signed lines, and with these lines unescaped. Text outside the armour stays. If a signature is missing,
 * the whole text stays. Nothing is verified.
 */
export function readClearSigned(text: string): ClearSigned {
  if (!text.includes(opening)) return { text, isSigned: false }
  const lines = text.split('\n')
  const kept: (readonly string[])[] = []
  let isSigned = false
  for (let at = 0; at < lines.length; ) {
    const start = findLine(lines, opening, at)
    const end = start < 0 ? -1 : findLine(lines, signature, start + 1)
    if (end < 0) {
      kept.push(lines.slice(at))
      break
    }
    isSigned = true
    kept.push(lines.slice(at, start), lines.slice(skipHeader(lines, start + 1), end).map(unescapeDashes))
    at = skipSignature(lines, end + 1)
  }
  return { text: kept.flat().join('\n'), isSigned }
}

function findLine(lines: readonly string[], mark: string, from: number): number {
  for (let at = from; at < lines.length; at += 1) if (lines[at]?.trimEnd() === mark) return at
  return -1
}

function skipHeader(lines: readonly string[], from: number): number {
  let at = from
  while (armourHeader.test(lines[at] ?? '')) at += 1
  return lines[at]?.trim() === '' ? at + 1 : at
}

/** Finds the line after a signature. A signature without an end extends as far as its lines look like one. */
function skipSignature(lines: readonly string[], from: number): number {
  for (let at = from; at < lines.length; at += 1) {
    const line = (lines[at] ?? '').trim()
    if (line === closing) return at + 1
    if (!armoured.test(line) && !armourHeader.test(line)) return at
  }
  return lines.length
}

/** Removes the dash and the space that are put before a signed line that begins with a dash (RFC 9580 §7.2). */
function unescapeDashes(line: string): string {
  return line.startsWith('- ') ? line.slice(2) : line
}
