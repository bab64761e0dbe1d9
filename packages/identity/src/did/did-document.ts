// Resolves `did:web`: locates DID documents, reads their assertion keys, and writes documents with Multikeys.
import type { KeyObject } from 'node:crypto'
import { createPublicKey } from 'node:crypto'
import { decodeBase58, encodeBase58, toAsciiDomain } from '@postern/message'
import { z } from 'zod'
import { EvidenceError, timeSchema } from '../format/members.ts'

const methodSchema = z.looseObject({
  id: z.string(),
  type: z.string(),
  controller: z.string(),
  publicKeyMultibase: z.string().optional(),
  expires: timeSchema.optional(),
  revoked: timeSchema.optional(),
})

/** The schema of a DID document, in which verification methods of other kinds may have any form. */
const didDocumentSchema = z.looseObject({
  id: z.string(),
  verificationMethod: z.array(z.unknown()).max(64).optional(),
  assertionMethod: z.array(z.unknown()).max(64).optional(),
})

interface MethodQuery {
  /** The DID of the issuer. */
  readonly issuer: string
  /** The DID URL of the key. */
  readonly id: string
  /** The present time, ms. */
  readonly now: number
}

/**
 * Finds the Ed25519 key of a Multikey verification method that its DID document lists under `assertionMethod` (DID Core §5.3.2), by
 * reference or inline.
 * @throws EvidenceError `issuer-controller-mismatch` if the document or the method belongs to another issuer
 */
export function findAssertionKey(document: unknown, { issuer, id, now }: MethodQuery): KeyObject | undefined {
  const { verificationMethod = [], assertionMethod = [] } = readDidDocument(document, issuer)
  const isReferenceToKey = (reference: unknown) => reference === id || reference === id.slice(issuer.length)
  const embeddedMethods = assertionMethod.filter(entry => isReferenceToKey(idOf(entry)))
  const referencedMethods = assertionMethod.some(isReferenceToKey)
    ? verificationMethod.filter(entry => isReferenceToKey(idOf(entry)))
    : []
  const [method, ...otherMethods] = [...embeddedMethods, ...referencedMethods]
  if (method === undefined || otherMethods.length > 0) return undefined
  return readMethod(method, issuer, now)
}

/**
 * Lists the DID URLs of a document's assertion methods.
 * @throws EvidenceError if the document belongs to another issuer or cannot be read
 */
export function listAssertionKeyIds(document: unknown, issuer: string): readonly string[] {
  const { assertionMethod = [] } = readDidDocument(document, issuer)
  const ids = assertionMethod.map(entry => (typeof entry === 'string' ? entry : idOf(entry)))
  return ids
    .filter(id => typeof id === 'string')
    .map(id => (id.startsWith('#') ? issuer + id : id))
    .filter(id => id.startsWith(`${issuer}#`))
}

function readDidDocument(document: unknown, issuer: string): z.infer<typeof didDocumentSchema> {
  const parsedDocument = didDocumentSchema.safeParse(document)
  if (!parsedDocument.success)
    throw new EvidenceError('key-unavailable', 'the DID document of its issuer cannot be read')
  if (parsedDocument.data.id !== issuer) throw createMismatch('the DID document belongs to another issuer')
  return parsedDocument.data
}

function readMethod(entry: unknown, issuer: string, now: number): KeyObject | undefined {
  const method = methodSchema.safeParse(entry).data
  if (!method) return undefined
  if (method.controller !== issuer) throw createMismatch('its key is controlled by another issuer')
  const hasEnded = [method.expires, method.revoked].some(end => end !== undefined && Date.parse(end) <= now)
  if (method.type !== 'Multikey' || hasEnded) return undefined
  return parseEd25519Multikey(method.publicKeyMultibase ?? '')
}

function idOf(entry: unknown): unknown {
  return typeof entry === 'object' && entry !== null && 'id' in entry ? entry.id : undefined
}

function createMismatch(reason: string): EvidenceError {
  return new EvidenceError('issuer-controller-mismatch', reason)
}

interface DidKey {
  /** The part of the key's id after `#`. */
  readonly fragment: string
  /** A public key for Ed25519. */
  readonly publicKey: KeyObject
}

/** Writes the document that a connector serves at the URL of `locateDidDocument`. */
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

/** The multicodec prefix of an Ed25519 public key, 0xed as a varint (Controlled Identifiers §2.2.2). */
const multicodecPrefix = Buffer.from([0xed, 0x01])
const keyBytes = 32

/** Formats an Ed25519 public key as `publicKeyMultibase`. */
export function formatEd25519Multikey(publicKey: KeyObject): string {
  const { x = '' } = publicKey.export({ format: 'jwk' })
  return `z${encodeBase58(Buffer.concat([multicodecPrefix, Buffer.from(x, 'base64url')]))}`
}

/** Parses an Ed25519 public key, or returns undefined for any other text. */
export function parseEd25519Multikey(text: string): KeyObject | undefined {
  const bytes = text.startsWith('z') ? decodeBase58(text.slice(1)) : undefined
  if (
    bytes?.length !== multicodecPrefix.length + keyBytes ||
    !multicodecPrefix.equals(bytes.subarray(0, multicodecPrefix.length))
  )
    return undefined
  const x = Buffer.from(bytes.subarray(multicodecPrefix.length)).toString('base64url')
  return createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' })
}

const didPrefix = 'did:web:'
/** Matches a segment of idchars (DID Core §3.1). Percent-encoded characters and dot segments are excluded, so that one DID has one address. */
const segmentPattern = /^(?!\.\.?$)[A-Za-z0-9._-]+$/
const portPattern = /^(.+)%3[Aa]([1-9]\d{0,4})$/

/**
 * Locates the document of a `did:web`: `did:web:host` at `/.well-known/did.json`, `did:web:host:path` at `/path/did.json`. A port is
 * written as `host%3A8443`. Returns undefined for any other text. The guarded fetch decides whether the URL may be fetched.
 */
export function locateDidDocument(did: string): string | undefined {
  if (!did.startsWith(didPrefix) || did.length > 512) return undefined
  const [authority = '', ...pathSegments] = did.slice(didPrefix.length).split(':')
  const [, host = authority, port] = portPattern.exec(authority) ?? []
  if (toAsciiDomain(host) !== host || Number(port ?? 0) > 65_535) return undefined
  if (!pathSegments.every(segment => segmentPattern.test(segment))) return undefined
  const origin = `https://${host}${port === undefined ? '' : `:${port}`}`
  return pathSegments.length === 0 ? `${origin}/.well-known/did.json` : `${origin}/${pathSegments.join('/')}/did.json`
}
