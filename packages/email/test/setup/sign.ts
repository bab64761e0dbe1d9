// Signs mail with DKIM, with errors if a test asks for them.
import type { KeyObject } from 'node:crypto'
import { createHash, createPublicKey, createSign, generateKeyPairSync, sign as signOnce } from 'node:crypto'

/** The options of the tests' own small signer (RFC 6376), so that the gateway's verifier is not tested with the gateway's own signer. */
export interface TestSigning {
  readonly domain: string
  readonly selector?: string
  readonly key: KeyObject
  /** The algorithm. The default is rsa-sha256 or ed25519-sha256, depending on the key. */
  readonly algorithm?: string
  /** The names for `h=`, in order. */
  readonly fields?: readonly string[]
  /** Tags that replace others or are added. Undefined removes a tag. */
  readonly tags?: Readonly<Record<string, string | undefined>>
  /** The number of signed octets of the body, which the signature does not declare. */
  readonly bodyOctets?: number
}

const crlf = '\r\n'

/** Creates a private key for DKIM. */
export function createDkimKey(bits: number | 'ed25519'): KeyObject {
  return bits === 'ed25519'
    ? generateKeyPairSync('ed25519').privateKey
    : generateKeyPairSync('rsa', { modulusLength: bits }).privateKey
}

/** Returns the TXT record of a key. */
export function keyRecord(key: KeyObject, tags = ''): string {
  const isRsa = key.asymmetricKeyType === 'rsa'
  const der = createPublicKey(key).export({ type: 'spki', format: 'der' })
  return `v=DKIM1; k=${isRsa ? 'rsa' : 'ed25519'}; ${tags}p=${(isRsa ? der : der.subarray(-32)).toString('base64')}`
}

/** Returns `message` with one DKIM-Signature on top. The canonicalization is relaxed/relaxed unless the tag `c` says otherwise. */
export function signText(message: string, signing: TestSigning): string {
  const text = message.replace(/\r?\n/g, crlf)
  const headerEnd = text.indexOf(crlf + crlf)
  const fields = text.slice(0, headerEnd).split(/\r\n(?![ \t])/)
  const [fieldForm, bodyForm = 'simple'] = (signing.tags?.c ?? 'relaxed/relaxed').toLowerCase().split('/')
  const canonicalize = fieldForm === 'relaxed' ? relaxField : (field: string) => field
  const body = (bodyForm === 'relaxed' ? relaxBody : simplifyBody)(text.slice(headerEnd + 4)).slice(
    0,
    signing.bodyOctets,
  )
  const names = signing.fields ?? ['from', 'to', 'subject', 'date', 'message-id']
  const algorithm = signing.algorithm ?? (signing.key.asymmetricKeyType === 'rsa' ? 'rsa-sha256' : 'ed25519-sha256')
  const hash = algorithm.endsWith('sha1') ? 'sha1' : 'sha256'
  const tags = {
    v: '1',
    a: algorithm,
    c: 'relaxed/relaxed',
    d: signing.domain,
    s: signing.selector ?? 's1',
    h: names.join(':'),
    bh: createHash(hash).update(body, 'latin1').digest('base64'),
    ...signing.tags,
    b: '',
  }
  const list = Object.entries(tags).flatMap(([name, value]) => (value === undefined ? [] : [`${name}=${value}`]))
  const unsignedField = `DKIM-Signature: ${list.join('; ')}`
  const data = Buffer.from([...chooseFields(fields, names), unsignedField].map(canonicalize).join(crlf), 'latin1')
  return `${unsignedField}${createSignature(data, hash, signing.key)}${crlf}${text}`
}

/** Chooses the lowest field of a name first. A name beyond the existing fields adds nothing (RFC 6376 §5.4.2). */
function chooseFields(fields: readonly string[], names: readonly string[]): readonly string[] {
  const remainingFields = [...fields]
  return names.flatMap(name => {
    const index = remainingFields.findLastIndex(field => readFieldName(field) === name.trim().toLowerCase())
    return index < 0 ? [] : remainingFields.splice(index, 1)
  })
}

function createSignature(data: Buffer, hash: string, key: KeyObject): string {
  if (key.asymmetricKeyType === 'rsa') return createSign(hash).update(data).sign(key, 'base64')
  return signOnce(null, createHash('sha256').update(data).digest(), key).toString('base64')
}

function readFieldName(field: string): string {
  return field.slice(0, field.indexOf(':')).trim().toLowerCase()
}

/** Relaxes a header field (RFC 6376 §3.4.2). */
function relaxField(field: string): string {
  const value = field.slice(field.indexOf(':') + 1)
  return `${readFieldName(field)}:${value
    .replace(/\r\n/g, '')
    .replace(/[ \t]+/g, ' ')
    .trim()}`
}

/** Canonicalizes a body in simple form (RFC 6376 §3.4.3). */
function simplifyBody(body: string): string {
  return `${body.replace(/(?:\r\n)+$/, '')}${crlf}`
}

/** Relaxes a body (RFC 6376 §3.4.4). */
function relaxBody(body: string): string {
  const lines = body.split(crlf).map(line => line.replace(/[ \t]+/g, ' ').replace(/ $/, ''))
  while (lines.at(-1) === '') lines.pop()
  return lines.map(line => `${line}${crlf}`).join('')
}
