// Reads a signed identity attestation of v0.1 and checks its signature (JCS, Ed25519 or P-256).
import type { KeyObject } from 'node:crypto'
import { hash, verify } from 'node:crypto'
import type { IdentityEvidence } from '@postern/message'
import { canonicalizeJson, toAsciiDomain } from '@postern/message'
import { z } from 'zod'
import type { EvidenceFormat, UnverifiedEvidence } from '../evidence/trust.ts'
import {
  describeIssue,
  EvidenceError,
  nameSchema,
  objectSchema,
  principalsSchema,
  subjectSchema,
  timeSchema,
} from '../format/members.ts'
import type { AttestationAlgorithm } from './connector-card.ts'
import { attestationAlgorithms, connectorCardPath, findCardKey } from './connector-card.ts'

type JsonObject = Readonly<Record<string, unknown>>

const audienceSchema = z.string().min(1).max(320)

/** A signed envelope that crosses a boundary (MN-6.2), for one audience and a limited time. */
const envelopeSchema = z.object({
  id: nameSchema.optional(),
  subject: subjectSchema,
  issuer: z
    .string()
    .max(253)
    .refine(issuer => toAsciiDomain(issuer) === issuer),
  method: nameSchema,
  assurance: nameSchema,
  audience: z.union([audienceSchema, z.array(audienceSchema).min(1).max(8)]),
  issued_at: timeSchema,
  not_before: timeSchema.optional(),
  expires_at: timeSchema,
  on_behalf_of: principalsSchema.optional(),
  claims: objectSchema.optional(),
  source: objectSchema.optional(),
  proof: z.strictObject({
    type: z.literal('signed-attestation'),
    alg: z.enum(Object.keys(attestationAlgorithms) as [AttestationAlgorithm]),
    kid: nameSchema,
    value: z.base64url().max(128),
    canonicalization: z.literal('jcs').optional(),
  }),
})

/** Forwarded envelopes of v0.1. Only `signed-attestation` is proof for a party that did not authenticate the sender itself. */
export const attestationFormat: EvidenceFormat = {
  kind: 'identity-evidence',
  carrier: 'identity_evidence',
  read: readAttestation,
}

function readAttestation(envelope: JsonObject): UnverifiedEvidence {
  checkProofType(envelope.proof)
  const parsedEnvelope = envelopeSchema.safeParse(envelope)
  if (!parsedEnvelope.success) throw new EvidenceError('malformed', describeIssue(parsedEnvelope.error))
  const { proof, ...members } = parsedEnvelope.data
  const { issuer, method, assurance, subject, on_behalf_of: principals = [], source } = members
  const { alg, kid, value } = proof
  const [issuedAt, expiresAt] = [Date.parse(members.issued_at), Date.parse(members.expires_at)]
  const input = formatSigningInput(envelope)
  return {
    assertion: { issuer, method, assurance, subject, principals },
    audiences: [members.audience].flat(),
    messageId: typeof source?.message === 'string' ? source.message : undefined,
    validity: {
      issuedAt,
      notBefore: members.not_before ? Date.parse(members.not_before) : issuedAt,
      expiresAt,
      endsAt: expiresAt,
    },
    keyId: kid,
    algorithm: alg,
    keysUrl: `https://${issuer}${connectorCardPath}`,
    findKey: document => findCardKey(document, { issuer, kid, alg }),
    isSignedWith: key => isValidSignature(input, { key, alg, value }),
    // The replay key does not cover the signature, because anybody can derive a second valid signature from an ES256 signature.
    replayKey: `attestation ${issuer} ${hash('sha256', input)}`,
    render: (): IdentityEvidence => ({
      ...members,
      proof: { type: 'signed-attestation', alg, kid, canonicalization: 'jcs' },
    }),
  }
}

function checkProofType(proof: unknown): void {
  const type = typeof proof === 'object' && proof !== null && 'type' in proof ? proof.type : undefined
  if (typeof type !== 'string') throw new EvidenceError('malformed', 'it has no proof')
  if (type === 'signed-attestation') return
  throw new EvidenceError('unsupported-proof', 'its proof convinces only the party that created it')
}

/**
 * Returns the text to sign: the whole envelope without the signature, in canonical form (RFC 8785).
 * @throws EvidenceError
 */
export function formatSigningInput({ proof, ...members }: JsonObject): Buffer {
  const { value: _, ...proofWithoutValue } = proof as JsonObject
  try {
    return Buffer.from(canonicalizeJson({ ...members, proof: proofWithoutValue }))
  } catch (cause) {
    throw new EvidenceError('malformed', 'it has no canonical form', { cause })
  }
}

/** The length of a signature of either algorithm: two numbers of 32 bytes. */
const signatureBytes = 64

/** Returns true if the signature is valid. Signatures have the form of JWS: an ES256 signature is two concatenated numbers (RFC 7518 §3.4). */
function isValidSignature(
  input: Buffer,
  { key, alg, value }: { readonly key: KeyObject; readonly alg: AttestationAlgorithm; readonly value: string },
): boolean {
  const signature = Buffer.from(value, 'base64url')
  return (
    signature.length === signatureBytes && verify(attestationAlgorithms[alg].hash, input, toSigningKey(key), signature)
  )
}

export function toSigningKey(key: KeyObject) {
  return { key, dsaEncoding: 'ieee-p1363' } as const
}
