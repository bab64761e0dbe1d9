// Signs outgoing mail with DKIM (RFC 6376 §5, RFC 8463).

import type { KeyObject } from 'node:crypto'
import { createHash, sign } from 'node:crypto'
import { promisify } from 'node:util'
import { relaxBody, relaxField } from '../dkim/canonicalization.ts'

/** The domain, the keys and the time of DKIM signatures. */
export interface DkimSigningOptions {
  readonly domain: string
  readonly keys: readonly DkimKey[]
  /** The time of the signature, ms since the epoch. */
  readonly signedAt: number
}

const crlf = '\r\n'

const signInThreadpool = promisify(sign)

const lifetimeSeconds = 7 * 24 * 3_600

/** The signed fields: those that people read and mail programs act on (RFC 6376 §5.4.1). */
const signedFields = [
  ...['from', 'to', 'cc', 'subject', 'date', 'reply-to', 'message-id', 'in-reply-to', 'references', 'mime-version'],
  ...['content-type', 'content-transfer-encoding', 'auto-submitted', 'list-id', 'list-post', 'list-unsubscribe'],
  // RFC 8058 §4 requires signatures of `list-unsubscribe` and this field.
  'list-unsubscribe-post',
  // The next gateway recognizes mail of an agent by this field.
  'x-postern-hop',
]

/**
 * Returns one DKIM-Signature field for each key (RFC 6376 §5, RFC 8463). These fields belong on top of the message.
 * They name every header field once more than the message has it (RFC 6376 §8.15), so that nobody can add such a field
 * under the signature. The signer of mailauth does not do that.
 */
export async function createDkimSignatures(
  message: Buffer,
  { domain, keys, signedAt }: DkimSigningOptions,
): Promise<string> {
  const text = message.toString('latin1')
  const headerEnd = text.indexOf(crlf + crlf)
  const fields = text.slice(0, headerEnd).split(/\r\n(?![ \t])/)
  const { names, lines } = chooseSignedFields(fields)
  const seconds = Math.floor(signedAt / 1000)
  const commonTags = `d=${domain}; t=${seconds}; x=${seconds + lifetimeSeconds};${crlf}\tbh=${sha256(relaxBody(message.subarray(headerEnd + 4))).toString('base64')};${crlf}\th=${foldNames(names)};${crlf}\tb=`
  const signatures = await Promise.all(
    keys.map(async ({ selector, privateKey }) => {
      const algorithm = privateKey.asymmetricKeyType === 'ed25519' ? 'ed25519-sha256' : 'rsa-sha256'
      const unsignedField = `DKIM-Signature: v=1; a=${algorithm}; c=relaxed/relaxed; s=${selector};${crlf}\t${commonTags}`
      const signature = await signData([...lines, relaxField(unsignedField)].join(crlf), privateKey)
      return `${unsignedField}${foldBase64(signature)}${crlf}`
    }),
  )
  return signatures.join('')
}

/** Returns a signature in base64. Ed25519 signs the hash of the data (RFC 8463 §3). */
async function signData(data: string, key: KeyObject): Promise<string> {
  const octets = Buffer.from(data, 'latin1')
  const signature =
    key.asymmetricKeyType === 'ed25519'
      ? await signInThreadpool(null, sha256(octets), key)
      : await signInThreadpool('sha256', octets, key)
  return signature.toString('base64')
}

function sha256(octets: Buffer): Buffer {
  return createHash('sha256').update(octets).digest()
}

/**
 * Chooses the fields to sign. The last field of a name is signed first (RFC 6376 §5.4.2). A name that is listed more
 * often than its fields signs the absence of another such field.
 */
function chooseSignedFields(fields: readonly string[]): {
  readonly names: readonly string[]
  readonly lines: readonly string[]
} {
  const relaxedFields = fields.map(relaxField)
  const signedLines = signedFields.map(name => ({
    name,
    lines: relaxedFields.filter(line => line.startsWith(`${name}:`)),
  }))
  return {
    names: signedLines.flatMap(({ name, lines }) => Array.from({ length: lines.length + 1 }, () => name)),
    lines: signedLines.flatMap(({ lines }) => lines.toReversed()),
  }
}

/**
 * Folds the list of names into lines of about 72 characters. White space around the colons is allowed (RFC 6376 §3.5).
 */
function foldNames(names: readonly string[]): string {
  const lines: string[] = []
  for (const name of names) {
    const line = lines.pop()
    if (line === undefined) lines.push(name)
    else if (line.length + name.length < 72) lines.push(`${line}:${name}`)
    else lines.push(line, name)
  }
  return lines.join(`:${crlf}\t `)
}

function foldBase64(base64: string): string {
  return base64.replace(/.{1,72}/g, (piece, offset: number) => (offset === 0 ? piece : `${crlf}\t ${piece}`))
}

/** A signing key with its selector. */
export interface DkimKey {
  readonly selector: string
  readonly privateKey: KeyObject
}
