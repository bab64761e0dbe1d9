/** Octets as they were before a Content-Transfer-Encoding (RFC 2045 §6); undefined unless they are exactly so encoded. */
export function decodeTransfer(octets: Buffer, encoding = '7bit'): Buffer | undefined {
  if (isIdentity(encoding)) return octets
  if (/^quoted-printable$/i.test(encoding)) return decodeQuotedPrintable(octets)
  return /^base64$/i.test(encoding) ? decodeBase64Lines(octets) : undefined
}

/** An encoding that changes nothing. */
export function isIdentity(encoding = '7bit'): boolean {
  return /^(?:7bit|8bit|binary)$/i.test(encoding)
}

/** No blanks at the end of a line, and behind each equals sign two hexadecimal digits or a line end. */
const [oddQuote, softBreak, quoted] = [/[ \t](?:[\r\n]|$)|=(?!\r\n|[0-9A-Fa-f]{2})/, /=\r\n/g, /=([0-9A-Fa-f]{2})/g]

function decodeQuotedPrintable(octets: Buffer): Buffer | undefined {
  const text = octets.toString('latin1')
  if (oddQuote.test(text)) return undefined
  const octet = (_: string, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))
  return Buffer.from(text.replace(softBreak, '').replace(quoted, octet), 'latin1')
}

function decodeBase64Lines(octets: Buffer): Buffer | undefined {
  const text = octets.toString('latin1').replaceAll('\r\n', '')
  return text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text) ? Buffer.from(text, 'base64') : undefined
}
