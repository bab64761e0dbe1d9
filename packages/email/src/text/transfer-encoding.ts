// Decodes quoted-printable and base64 text that follows the rules, and leaves other text to the parser.

const [EQUALS, CR, LF, SPACE, TAB] = [0x3d, 0x0d, 0x0a, 0x20, 0x09]

/**
 * Decodes quoted-printable text in one pass. It returns undefined for text that violates RFC 2045 §6.7: blanks at the end of a
 * line, or an equals sign without two hexadecimal digits or a line end after it.
 */
export function decodeQuotedPrintable(octets: Buffer): Buffer | undefined {
  const decodedOctets = Buffer.allocUnsafe(octets.length)
  let length = 0
  for (let index = 0; index < octets.length; index += 1) {
    const octet = octets[index] ?? 0
    if ((octet === SPACE || octet === TAB) && isLineEnd(octets[index + 1])) return undefined
    if (octet === EQUALS && octets[index + 1] === CR && octets[index + 2] === LF) index += 2
    else if (octet === EQUALS) {
      const code = readHexOctet(octets, index + 1)
      if (code === undefined) return undefined
      decodedOctets[length] = code
      length += 1
      index += 2
    } else {
      decodedOctets[length] = octet
      length += 1
    }
  }
  return decodedOctets.subarray(0, length)
}

/** Returns true at a line end and at the end of the text. */
function isLineEnd(octet: number | undefined): boolean {
  return octet === undefined || octet === CR || octet === LF
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
