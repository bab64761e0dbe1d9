// Decodes quoted-printable and base64 text that follows the rules, and leaves other text to the parser.

const [EQUALS, CR, LF] = [0x3d, 0x0d, 0x0a]

/**
 * Decodes quoted-printable text in one pass. It returns undefined for text that violates RFC 2045 §6.7: blanks at the end of a
 * line, or an equals sign without two hexadecimal digits or a line end after it.
 */
export function decodeQuotedPrintable(octets: Buffer): Buffer | undefined {
  if (hasTrailingBlanks(octets)) return undefined
  const decodedOctets = Buffer.allocUnsafe(octets.length)
  let [length, position] = [0, 0]
  for (;;) {
    const equals = octets[position] === EQUALS ? position : octets.indexOf(EQUALS, position)
    length += octets.copy(decodedOctets, length, position, equals < 0 ? octets.length : equals)
    if (equals < 0) return decodedOctets.subarray(0, length)
    if (octets[equals + 1] !== CR || octets[equals + 2] !== LF) {
      const code = readHexOctet(octets, equals + 1)
      if (code === undefined) return undefined
      decodedOctets[length] = code
      length += 1
    }
    position = equals + 3
  }
}

const trailingBlanks = [' \r', ' \n', '\t\r', '\t\n'].map(text => Buffer.from(text))

/** Returns true if a line ends with a space or a tab. */
function hasTrailingBlanks(octets: Buffer): boolean {
  const last = octets.at(-1)
  return last === 0x20 || last === 0x09 || trailingBlanks.some(blanks => octets.includes(blanks))
}

function readHexOctet(octets: Buffer, index: number): number | undefined {
  const [high, low] = [readHexDigit(octets[index]), readHexDigit(octets[index + 1])]
  return high === undefined || low === undefined ? undefined : high * 16 + low
}

function readHexDigit(octet = 0): number | undefined {
  if (octet >= 0x30 && octet <= 0x39) return octet - 0x30
  const letter = octet | 0x20
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : undefined
}

/**
 * Decodes lines of base64. It returns undefined for any other text, and for base64 that is not canonical (RFC 4648 §3.5). Encoding the
 * result again takes a fraction of the time of a look at each octet.
 */
export function decodeBase64Lines(octets: Buffer): Buffer | undefined {
  const text = octets.toString('latin1').replaceAll('\r\n', '')
  const decodedOctets = Buffer.from(text, 'base64')
  return decodedOctets.toString('base64') === text ? decodedOctets : undefined
}
