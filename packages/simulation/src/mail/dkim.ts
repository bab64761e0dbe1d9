// Signs a finished mail with DKIM (RFC 6376) in cases that nodemailer does not support, such as time limits and malformed messages.
import { createHash, createSign } from 'node:crypto'

interface DkimSignature {
  readonly domain: string
  readonly selector: string
  readonly privatePem: string
  /** The value of `t=`, in seconds since the epoch. */
  readonly signedAt: number
  /** The value of `x=`, in seconds since the epoch. */
  readonly expiresAt?: number | undefined
}

const signedFields = [
  'from',
  'to',
  'subject',
  'date',
  'message-id',
  'in-reply-to',
  'references',
  'mime-version',
  'content-type',
]

/**
 * Puts a `DKIM-Signature` (RFC 6376, rsa-sha256, relaxed/relaxed) before finished octets with CRLF line ends. Unlike nodemailer, it can set
 * time limits and sign messages that no composer would write.
 */
export function signMail(octets: Buffer, signature: DkimSignature): Buffer {
  const { fields, body } = splitMail(octets)
  const names = signedFields.filter(name => fields.some(field => nameOf(field) === name))
  const { domain, selector, signedAt, expiresAt } = signature
  const tags = [
    'v=1; a=rsa-sha256; c=relaxed/relaxed',
    `d=${domain}; s=${selector}; t=${signedAt}${expiresAt === undefined ? '' : `; x=${expiresAt}`}`,
    `h=${names.join(':')}`,
    `bh=${createHash('sha256').update(relaxBody(body), 'latin1').digest('base64')}`,
    'b=',
  ].join(';\r\n ')
  const unsignedField = `DKIM-Signature: ${tags}`
  // RFC 6376 §5.4.2: the signature covers the last one of repeated fields.
  const fieldsToSign = names.map(name => fields.findLast(field => nameOf(field) === name) ?? '')
  const data = [...fieldsToSign, unsignedField].map(relaxField).join('\r\n')
  const value = createSign('RSA-SHA256').update(data, 'latin1').sign(signature.privatePem, 'base64')
  const foldedSignature = value.replace(/.{72}(?=.)/g, '$&\r\n ')
  return Buffer.concat([Buffer.from(`${unsignedField}${foldedSignature}\r\n`), octets])
}

/** Splits a mail into its header fields, still folded, and its body, with one `latin1` character for each octet. */
export function splitMail(octets: Buffer): { readonly fields: readonly string[]; readonly body: string } {
  const text = octets.toString('latin1')
  const end = text.indexOf('\r\n\r\n')
  const head = end < 0 ? text : text.slice(0, end)
  return { fields: head.split(/\r\n(?![ \t])/), body: end < 0 ? '' : text.slice(end + 4) }
}

function nameOf(field: string): string {
  return field.slice(0, field.indexOf(':')).trim().toLowerCase()
}

/** Canonicalizes a header field by RFC 6376 §3.4.2. */
function relaxField(field: string): string {
  const value = field.slice(field.indexOf(':') + 1)
  return `${nameOf(field)}:${value
    .replace(/\r\n/g, '')
    .replace(/[ \t]+/g, ' ')
    .trim()}`
}

/** Canonicalizes a body by RFC 6376 §3.4.4. */
function relaxBody(body: string): string {
  const lines = body.split('\r\n').map(line => line.replace(/[ \t]+/g, ' ').replace(/ $/, ''))
  while (lines.at(-1) === '') lines.pop()
  return lines.map(line => `${line}\r\n`).join('')
}
