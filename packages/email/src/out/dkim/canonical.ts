import type { KeyObject } from 'node:crypto'
import { createHash, sign } from 'node:crypto'
import { promisify } from 'node:util'

const crlf = '\r\n'
const signInThreadpool = promisify(sign)

/** A header field, relaxed (RFC 6376 §3.4.2), without its line end. */
export function relaxField(field: string): string {
  const colon = field.indexOf(':')
  const value = field.slice(colon + 1).replaceAll(crlf, '')
  return `${field.slice(0, colon).trim().toLowerCase()}:${value.replace(/[ \t]+/g, ' ').trim()}`
}

/** SHA-256 of a body, relaxed (RFC 6376 §3.4.4), base64. */
export function hashBody(body: string): string {
  const lines = body.split(crlf)
  while (lines.length > 0 && relaxLine(lines.at(-1) ?? '') === '') lines.pop()
  const hash = createHash('sha256')
  for (const line of lines) hash.update(`${relaxLine(line)}${crlf}`, 'latin1')
  return hash.digest('base64')
}

function relaxLine(line: string): string {
  const single = line.replace(/[ \t]+/g, ' ')
  return single.endsWith(' ') ? single.slice(0, -1) : single
}

/** Base64. Ed25519 signs the hash of the data (RFC 8463 §3). */
export async function signData(data: string, key: KeyObject): Promise<string> {
  const octets = Buffer.from(data, 'latin1')
  const signature =
    key.asymmetricKeyType === 'ed25519'
      ? await signInThreadpool(null, createHash('sha256').update(octets).digest(), key)
      : await signInThreadpool('sha256', octets, key)
  return signature.toString('base64')
}
