// Verifies the DKIM signatures of a message.
import { hash, verify } from 'node:crypto'
import type { HeaderBlock, HeaderField } from '../mail/header.ts'
import type { BodyHash } from './body-hash.ts'
import { createBodyHasher } from './body-hash.ts'
import { emptySignatureTag, fieldCanonicalizers } from './canonicalization.ts'
import { parseSignature } from './parse-signature.ts'
import type {
  DkimError,
  DkimKeyError,
  DkimKeyRecord,
  DkimSignature,
  SignatureReport,
  TxtAnswer,
} from './signature-report.ts'

interface VerificationDeps {
  /** The DNS answers for `selector._domainkey.domain`, in lower case. A name that is absent here does not exist. */
  readonly keys: Readonly<Record<string, TxtAnswer>>
  /** The time of the check, ms since the epoch. */
  readonly now: number
  readonly readKey: (text: string) => DkimKeyRecord | DkimKeyError
}

/**
 * Verifies every DKIM-Signature of a message with CRLF line ends, in order (RFC 6376 §6, RFC 8301, RFC 8463). The
 * caller fetches the keys before.
 */
export function verifySignatures(
  { octets, header }: { readonly octets: Buffer; readonly header: HeaderBlock },
  deps: VerificationDeps,
): SignatureReport[] {
  const fields = header.fields.filter(({ name }) => name === 'dkim-signature')
  const signatures = fields.map(field => ({ field, signature: parseSignature(field) }))
  const findBodyHash = createBodyHasher(
    octets.subarray(header.bodyStart),
    signatures.map(({ signature }) => signature),
  )
  const findSignedFields = createFieldFinder(header)
  return signatures.map(({ field, signature }) => {
    const signedFields = findSignedFields(signature.fields)
    const body = findBodyHash(signature)
    const input = { body, buildSignedOctets: () => buildSignedOctets(octets, signature, { field, signedFields }) }
    const { error, ...key } = signature.error ? { error: signature.error } : verifySignature(signature, input, deps)
    return {
      domain: signature.domain,
      selector: signature.selector,
      algorithm: signature.algorithm,
      bits: undefined,
      isTesting: false,
      ...key,
      ...(error && { error }),
      uncoveredOctets: body.uncoveredOctets,
      signedAt: signature.signedAt,
      covers: signedFields.map(({ name }) => name),
      id: hash('sha256', signature.value, 'hex'),
    }
  })
}

interface SignatureInput {
  readonly body: BodyHash
  /** Builds the signed octets. They are built on demand, because most errors are found without them. */
  readonly buildSignedOctets: () => Buffer
}

type SignatureOutcome = Pick<SignatureReport, 'error' | 'dnsCode'> &
  Partial<Pick<SignatureReport, 'bits' | 'isTesting'>>

/** Checks the key and computes the signature (RFC 6376 §6.1.2 and §6.1.3). */
function verifySignature(signature: DkimSignature, input: SignatureInput, deps: VerificationDeps): SignatureOutcome {
  if (signature.algorithm === 'rsa-sha1') return { error: 'weak-algorithm' }
  if (signature.bodyHash !== input.body.hash) return { error: 'body hash did not verify' }
  const record = findKey(signature, deps)
  if ('error' in record) return record
  const { bits, isTesting } = record
  const error =
    findKeyError(signature, record) ?? findSignatureError(signature, record, input.buildSignedOctets(), deps.now)
  return { bits, isTesting, error }
}

function findKey(
  { domain, selector }: DkimSignature,
  { keys, readKey }: VerificationDeps,
): DkimKeyRecord | (DkimKeyError & { readonly dnsCode?: string }) {
  const answer = keys[`${selector}._domainkey.${domain}`] ?? { code: 'ENOTFOUND' }
  if ('records' in answer) return readKey((answer.records[0] ?? []).join(''))
  if (answer.code === 'ENOTFOUND' || answer.code === 'ENODATA') return { error: 'no key' }
  return { error: 'DNS failure', dnsCode: answer.code }
}

function findKeyError(signature: DkimSignature, record: DkimKeyRecord): DkimError | undefined {
  if (record.keyType !== signature.keyType) return 'inappropriate key algorithm'
  return record.forbidsSubdomains && signature.identity !== signature.domain ? 'domain mismatch' : undefined
}

function findSignatureError(
  signature: DkimSignature,
  record: DkimKeyRecord,
  data: Buffer,
  now: number,
): DkimError | undefined {
  // Ed25519 signs the hash of the data (RFC 8463 §3).
  const isValid =
    record.keyType === 'ed25519'
      ? verify(null, hash('sha256', data, 'buffer'), record.key, signature.value)
      : verify('sha256', data, record.key, signature.value)
  if (!isValid) return 'bad signature'
  return signature.expiresAt !== undefined && signature.expiresAt * 1000 < now ? 'expired' : undefined
}

interface SignedFields {
  /** The DKIM-Signature field itself. */
  readonly field: HeaderField
  /** The covered fields, in the order of `h=`. */
  readonly signedFields: readonly HeaderField[]
}

/**
 * Finds the fields that `h=` names. The lowest field of a name comes first, and each field is used only once (RFC 6376
 * §5.4.2).
 */
function createFieldFinder({ fields }: HeaderBlock): (names: readonly string[]) => HeaderField[] {
  const fieldsByName = new Map<string, HeaderField[]>()
  for (const field of fields) {
    const sameNameFields = fieldsByName.get(field.name)
    if (sameNameFields) sameNameFields.push(field)
    else fieldsByName.set(field.name, [field])
  }
  return names => {
    const usedCounts = new Map<string, number>()
    return names.flatMap(name => {
      const count = (usedCounts.get(name) ?? 0) + 1
      usedCounts.set(name, count)
      return fieldsByName.get(name)?.at(-count) ?? []
    })
  }
}

/** Returns the signed octets: the covered fields, then the signature field without its value and its line end (RFC 6376 §3.7). */
function buildSignedOctets(
  octets: Buffer,
  { fieldForm }: Pick<DkimSignature, 'fieldForm'>,
  { signedFields, field }: SignedFields,
): Buffer {
  const canonicalize = fieldCanonicalizers[fieldForm]
  const lines = signedFields.map(signedField => canonicalize(readLine(octets, signedField)))
  return Buffer.from([...lines, emptySignatureTag(canonicalize(readLine(octets, field)))].join('\r\n'), 'latin1')
}

function readLine(octets: Buffer, { start, end }: HeaderField): string {
  const line = octets.toString('latin1', start, end)
  return line.endsWith('\r\n') ? line.slice(0, -2) : line
}
