import type { KeyObject } from 'node:crypto'
import { z } from 'zod'
import { EvidenceFault } from '../format/fault.ts'
import { timeSchema } from '../format/members.ts'
import { formatEd25519Multikey, parseEd25519Multikey } from '../format/multikey.ts'

const methodSchema = z.looseObject({
  id: z.string(),
  type: z.string(),
  controller: z.string(),
  publicKeyMultibase: z.string().optional(),
  expires: timeSchema.optional(),
  revoked: timeSchema.optional(),
})

/** Verification methods of other kinds may have any form. */
const didDocumentSchema = z.looseObject({
  id: z.string(),
  verificationMethod: z.array(z.unknown()).max(64).optional(),
  assertionMethod: z.array(z.unknown()).max(64).optional(),
})

interface WantedMethod {
  /** The DID. */
  readonly issuer: string
  /** The DID URL of the key. */
  readonly id: string
  /** ms */
  readonly now: number
}

/**
 * The Ed25519 key of a Multikey verification method that its DID document lists under `assertionMethod` (DID Core §5.3.2), by
 * reference or in place.
 * @throws EvidenceFault `issuer-controller-mismatch` when the document or the method is another's
 */
export function findAssertionKey(document: unknown, { issuer, id, now }: WantedMethod): KeyObject | undefined {
  const { verificationMethod = [], assertionMethod = [] } = readDidDocument(document, issuer)
  const isWanted = (reference: unknown) => reference === id || reference === id.slice(issuer.length)
  const embedded = assertionMethod.filter(entry => isWanted(idOf(entry)))
  const listed = assertionMethod.some(isWanted) ? verificationMethod.filter(entry => isWanted(idOf(entry))) : []
  const [found, ...others] = [...embedded, ...listed]
  if (found === undefined || others.length > 0) return undefined
  return readMethod(found, issuer, now)
}

/** The DID URLs of a document's assertion methods. @throws EvidenceFault when it is another's, or has none */
export function listAssertionKeyIds(document: unknown, issuer: string): readonly string[] {
  const { assertionMethod = [] } = readDidDocument(document, issuer)
  const ids = assertionMethod.map(entry => (typeof entry === 'string' ? entry : idOf(entry)))
  return ids
    .filter(id => typeof id === 'string')
    .map(id => (id.startsWith('#') ? issuer + id : id))
    .filter(id => id.startsWith(`${issuer}#`))
}

function readDidDocument(document: unknown, issuer: string): z.infer<typeof didDocumentSchema> {
  const parsed = didDocumentSchema.safeParse(document)
  if (!parsed.success) throw new EvidenceFault('key-unavailable', 'the DID document of its issuer cannot be read')
  if (parsed.data.id !== issuer) throw mismatch('the DID document there is of another issuer')
  return parsed.data
}

function readMethod(entry: unknown, issuer: string, now: number): KeyObject | undefined {
  const method = methodSchema.safeParse(entry).data
  if (!method) return undefined
  if (method.controller !== issuer) throw mismatch('its key is controlled by another')
  const hasEnded = [method.expires, method.revoked].some(end => end !== undefined && Date.parse(end) <= now)
  if (method.type !== 'Multikey' || hasEnded) return undefined
  return parseEd25519Multikey(method.publicKeyMultibase ?? '')
}

function idOf(entry: unknown): unknown {
  return typeof entry === 'object' && entry !== null && 'id' in entry ? entry.id : undefined
}

function mismatch(reason: string): EvidenceFault {
  return new EvidenceFault('issuer-controller-mismatch', reason)
}

export interface DidKey {
  /** The part behind `#`. */
  readonly fragment: string
  /** Ed25519. */
  readonly publicKey: KeyObject
}

/** The document that a connector serves where `locateDidDocument` says. */
export function writeDidDocument(did: string, keys: readonly DidKey[]) {
  const methods = keys.map(({ fragment, publicKey }) => ({
    id: `${did}#${fragment}`,
    type: 'Multikey',
    controller: did,
    publicKeyMultibase: formatEd25519Multikey(publicKey),
  }))
  return {
    '@context': ['https://www.w3.org/ns/did/v1', 'https://w3id.org/security/multikey/v1'],
    id: did,
    verificationMethod: methods,
    assertionMethod: methods.map(({ id }) => id),
  }
}
