// Decodes quoted-printable and base64 text that follows the rules, and leaves other text to the parser.

/**
 * Patterns for quoted-printable text. `brokenQuote` matches a violation of RFC 2045 §6.7: blanks at the end of a line,
 * or an equals sign without two hexadecimal digits or a line end after it.
 */
const [brokenQuote, softBreak, quotedOctet] = [
  /[ \t](?:[\r\n]|$)|=(?!\r\n|[0-9A-Fa-f]{2})/,
  /=\r\n/g,
  /=([0-9A-Fa-f]{2})/g,
]

/** Decodes quoted-printable text. It returns undefined for text that violates RFC 2045 §6.7. */
export function decodeQuotedPrintable(octets: Buffer): Buffer | undefined {
  const text = octets.toString('latin1')
  if (brokenQuote.test(text)) return undefined
  const decodeOctet = (_: string, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))
  return Buffer.from(text.replace(softBreak, '').replace(quotedOctet, decodeOctet), 'latin1')
}

/** Decodes lines of base64. It returns undefined for any other text. */
export function decodeBase64Lines(octets: Buffer): Buffer | undefined {
  const text = octets.toString('latin1').replaceAll('\r\n', '')
  return text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text) ? Buffer.from(text, 'base64') : undefined
}
