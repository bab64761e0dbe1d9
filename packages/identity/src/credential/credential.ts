// Reads a W3C verifiable credential of identity v0.2 and checks its Data Integrity proof.
import type { KeyObject } from 'node:crypto'
import { sign, verify } from 'node:crypto'
import type { IdentityEvidence } from '@postern/message'
import { decodeBase58, encodeBase58, hashCanonicalJson, isoTime } from '@postern/message'
import { z } from 'zod'
import { findAssertionKey, locateDidDocument } from '../did/did-document.ts'
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

type Members = Readonly<Record<string, unknown>>

/** The required contexts. No others are allowed, because additional contexts could change the meaning of members. */
export const credentialContext = [
  'https://www.w3.org/ns/credentials/v2',
  'https://mentionable.dev/ns/identity/v0.2/context.jsonld',
] as const

export const credentialTypes = ['VerifiableCredential', 'PlatformIdentityCredential'] as const

export const credentialSuite = {
  type: 'DataIntegrityProof',
  cryptosuite: 'eddsa-jcs-2022',
  proofPurpose: 'assertionMethod',
} as const

/** The schema of a credential. Members with conditions that the gateway cannot check (`credentialStatus`, `termsOfUse`) make a credential invalid. */
const credentialSchema = z.strictObject({
  '@context': z.unknown(),
  type: z.unknown(),
  id: z.string().min(1).max(512).optional(),
  issuer: z.string().refine(issuer => locateDidDocument(issuer) !== undefined),
  validFrom: timeSchema,
  validUntil: timeSchema,
  credentialSubject: z.object({
    id: subjectSchema,
    method: nameSchema,
    assurance: nameSchema,
    on_behalf_of: principalsSchema.optional(),
    platform: objectSchema.optional(),
    profile: objectSchema.optional(),
    observedInvocation: objectSchema.optional(),
    source: objectSchema.optional(),
  }),
  name: z.unknown().optional(),
  description: z.unknown().optional(),
  proof: z.strictObject({
    '@context': z.unknown(),
    id: z.string().optional(),
    type: z.literal(credentialSuite.type),
    cryptosuite: z.literal(credentialSuite.cryptosuite),
    proofPurpose: z.literal(credentialSuite.proofPurpose),
    verificationMethod: z.string().max(768),
    created: timeSchema.optional(),
    expires: timeSchema.optional(),
    nonce: z.string().optional(),
    domain: z.string().min(1).max(320),
    challenge: z.string().min(1).max(256),
    proofValue: z.string().max(128),
  }),
})

type Credential = z.infer<typeof credentialSchema>

/** The form of W3C VC 2.0 credentials of identity v0.2 (MN-6.5). */
export const credentialForm: EvidenceFormat = {
  kind: 'verifiable-credential',
  carrier: 'verifiable_credentials',
  read: readCredential,
}

function readCredential(document: Members): UnverifiedEvidence {
  checkContext(document)
  checkTypes(document.type)
  const parsedCredential = credentialSchema.safeParse(document)
  if (!parsedCredential.success) throw new EvidenceError('malformed', describeIssue(parsedCredential.error))
  const credential = parsedCredential.data
  const { issuer, proof, credentialSubject: subject } = credential
  const { verificationMethod, domain, challenge } = proof
  if (!verificationMethod.startsWith(`${issuer}#`)) {
    throw new EvidenceError('issuer-controller-mismatch', 'its key is not one of its issuer')
  }
  const window = readWindow(credential)
  const { proof: signedProof, ...unsecuredDocument } = document
  const { proofValue: _, ...options } = signedProof as Members
  const input = formatIntegrityInput({ unsecured: unsecuredDocument, options })
  const { method, assurance, on_behalf_of: principals = [] } = subject
  return {
    assertion: { issuer, method, assurance, subject: subject.id, principals },
    audiences: [domain],
    messageId: challenge,
    validity: window,
    keyId: verificationMethod,
    algorithm: credentialSuite.cryptosuite,
    keysUrl: locateDidDocument(issuer) ?? '',
    findKey: (didDocument, now) => findAssertionKey(didDocument, { issuer, id: verificationMethod, now }),
    isSignedWith: key => isIntegrityProof(input, key, proof.proofValue),
    replayKey: `credential ${JSON.stringify([issuer, domain, challenge])}`,
    render: () => renderEvidence(credential),
  }
}

/** Checks the document's `@context`, which the proof repeats inside the signed data (vc-di-eddsa §3.3.2). */
function checkContext({ '@context': context, proof }: Members): void {
  if (!objectSchema.safeParse(proof).success) throw new EvidenceError('malformed', 'it does not have one proof')
  const proofContext = (proof as Members)['@context']
  if (isContext(context) && isContext(proofContext)) return
  throw new EvidenceError('malformed-context', 'its @context, or that of its proof, is not valid')
}

function isContext(context: unknown): boolean {
  if (!Array.isArray(context) || context.length !== credentialContext.length) return false
  return credentialContext.every((url, index) => context[index] === url)
}

function checkTypes(types: unknown): void {
  const hasSameLength = Array.isArray(types) && types.length === credentialTypes.length
  if (hasSameLength && credentialTypes.every(type => types.includes(type))) return
  throw new EvidenceError('malformed-type', 'its type is not that of a platform identity')
}

function readWindow({ validFrom, validUntil, proof }: Credential): UnverifiedEvidence['validity'] {
  return {
    issuedAt: Date.parse(validFrom),
    notBefore: Date.parse(proof.created ?? validFrom),
    expiresAt: Date.parse(validUntil),
    endsAt: Date.parse(proof.expires ?? validUntil),
  }
}

function renderEvidence({ id, issuer, validFrom, validUntil, credentialSubject, proof }: Credential): IdentityEvidence {
  const { id: subject, method, assurance, on_behalf_of, source, ...claims } = credentialSubject
  return {
    ...(id && { id }),
    subject,
    issuer,
    method,
    assurance,
    audience: proof.domain,
    issued_at: isoTime(Date.parse(validFrom)),
    expires_at: isoTime(Date.parse(validUntil)),
    ...(on_behalf_of && { on_behalf_of }),
    ...(Object.keys(claims).length > 0 && { claims }),
    ...(source && { source }),
    proof: {
      type: 'signed-attestation',
      alg: credentialSuite.cryptosuite,
      kid: proof.verificationMethod,
      canonicalization: 'jcs',
    },
  }
}

interface SecuredDocument {
  /** The document without `proof`. */
  readonly unsecured: Members
  /** The proof without `proofValue`, but with the document's own `@context`. */
  readonly options: Members
}

const signatureBytes = 64

/**
 * Returns the text that `eddsa-jcs-2022` signs (vc-di-eddsa §3.3): the hash of the options, then that of the document.
 * @throws EvidenceError
 */
export function formatIntegrityInput({ unsecured, options }: SecuredDocument): Buffer {
  try {
    return Buffer.concat([hashCanonicalJson(options), hashCanonicalJson(unsecured)])
  } catch (cause) {
    throw new EvidenceError('malformed', 'it has no canonical form', { cause })
  }
}

/** Verifies a proof value with an Ed25519 key. */
export function isIntegrityProof(input: Buffer, key: KeyObject, proofValue: string): boolean {
  const signature = proofValue.startsWith('z') ? decodeBase58(proofValue.slice(1)) : undefined
  return signature?.length === signatureBytes && verify(null, input, key, signature)
}

export function writeProofValue(input: Buffer, privateKey: KeyObject): string {
  return `z${encodeBase58(sign(null, input, privateKey))}`
}
