import { createHash, verify } from 'node:crypto'
import type { BodyHash } from './body-hash.ts'
import { hashBodies } from './body-hash.ts'
import type { DkimFault } from './faults.ts'
import type { DkimKeyFault, DkimKeyRecord } from './key-record.ts'
import type { SignatureReport, TxtAnswer } from './report.ts'
import type { DkimSignature } from './signature.ts'
import { parseSignature } from './signature.ts'
import type { SignedMessage } from './signed-data.ts'
import { indexFields, joinSigned } from './signed-data.ts'

interface VerifyingDeps {
  /** Answers for `selector._domainkey.domain`, lower case. A name that is absent does not exist. */
  readonly keys: Readonly<Record<string, TxtAnswer>>
  /** ms since the epoch */
  readonly now: number
  readonly readKey: (text: string) => DkimKeyRecord | DkimKeyFault
}

/** Verifies each DKIM-Signature of a message, in order (RFC 6376 §6, RFC 8301, RFC 8463); the keys are there before. */
export function verifySignatures(message: SignedMessage, deps: VerifyingDeps): SignatureReport[] {
  const { octets, header } = message
  const fields = header.fields.filter(({ name }) => name === 'dkim-signature')
  const signatures = fields.map(field => ({ field, signature: parseSignature(field) }))
  const findBody = hashBodies(
    octets.subarray(header.bodyStart),
    signatures.map(({ signature }) => signature),
  )
  const findFields = indexFields(header)
  return signatures.map(({ field, signature }) => {
    const signed = findFields(signature.fields)
    const body = findBody(signature)
    const found = { body, join: () => joinSigned(octets, signature, { field, signed }) }
    const { fault, ...key } = signature.fault ? { fault: signature.fault } : verifySignature(signature, found, deps)
    return {
      domain: signature.domain,
      selector: signature.selector,
      algorithm: signature.algorithm,
      bits: undefined,
      isTesting: false,
      ...key,
      ...(fault && { fault }),
      uncovered: body.uncovered,
      signedAt: signature.signedAt,
      covers: signed.map(({ name }) => name),
      id: createHash('sha256').update(signature.value).digest('hex'),
    }
  })
}

interface FoundSignature {
  readonly body: BodyHash
  /** Makes the octets that it signs; most faults are found without them. */
  readonly join: () => Buffer
}

type Outcome = Pick<SignatureReport, 'fault' | 'dnsCode'> & Partial<Pick<SignatureReport, 'bits' | 'isTesting'>>

/** RFC 6376 §6.1.2 and §6.1.3. */
function verifySignature(signature: DkimSignature, found: FoundSignature, deps: VerifyingDeps): Outcome {
  if (signature.algorithm === 'rsa-sha1') return { fault: 'weak-algorithm' }
  if (signature.bodyHash !== found.body.hash) return { fault: 'body hash did not verify' }
  const record = findKey(signature, deps)
  if ('fault' in record) return record
  const { bits, isTesting } = record
  const fault = findKeyFault(signature, record) ?? findSignatureFault(signature, { found, record, now: deps.now })
  return { bits, isTesting, fault }
}

function findKey(
  { domain, selector }: DkimSignature,
  { keys, readKey }: VerifyingDeps,
): DkimKeyRecord | (DkimKeyFault & { readonly dnsCode?: string }) {
  const answer = keys[`${selector}._domainkey.${domain}`] ?? { code: 'ENOTFOUND' }
  if ('records' in answer) return readKey((answer.records[0] ?? []).join(''))
  if (answer.code === 'ENOTFOUND' || answer.code === 'ENODATA') return { fault: 'no key' }
  return { fault: 'DNS failure', dnsCode: answer.code }
}

function findKeyFault(signature: DkimSignature, record: DkimKeyRecord): DkimFault | undefined {
  if (record.keyType !== signature.keyType) return 'inappropriate key algorithm'
  return record.isExact && signature.identity !== signature.domain ? 'domain mismatch' : undefined
}

interface Computing {
  readonly found: FoundSignature
  readonly record: DkimKeyRecord
  readonly now: number
}

function findSignatureFault(signature: DkimSignature, { found, record, now }: Computing): DkimFault | undefined {
  const data = found.join()
  // Ed25519 signs the hash of the data (RFC 8463 §3).
  const isGood =
    record.keyType === 'ed25519'
      ? verify(null, createHash('sha256').update(data).digest(), record.key, signature.value)
      : verify('sha256', data, record.key, signature.value)
  if (!isGood) return 'bad signature'
  return signature.expiresAt !== undefined && signature.expiresAt * 1000 < now ? 'expired' : undefined
}
