// Describes the evidence of a sender's identity, as trusted parties state it.
import { z } from 'zod'

/** The proof of one piece of identity evidence (identity v0.1). */
const identityProofSchema = z.discriminatedUnion('type', [
  z.object({
    /** `transport`: the channel verified it; `signed-attestation`: an issuer signed it; `bearer-token`: a token said it. */
    type: z.literal('transport'),
    /** The method that verified it, of the channel or of the token. */
    verified_by: z.string(),
    /** Id of the key that proved it. */
    key_id: z.string().optional(),
    /** Kind of the credential whose holder the subject names, unless it is an account: a client, an API key or a chat token. */
    credential: z.enum(['client_id', 'api_key', 'chat_token']).optional(),
  }),
  z.object({
    type: z.literal('signed-attestation'),
    /** Algorithm of the signature. */
    alg: z.string(),
    /** Id of the key. */
    kid: z.string(),
    /** The signature; left out once it is verified. */
    value: z.string().optional(),
    /** The canonical form of the signed bytes. */
    canonicalization: z.string().optional(),
  }),
  z.looseObject({ type: z.literal('bearer-token'), verified_by: z.string() }),
])

/** A statement of a trusted party about the sender. Authorization reads this, never a profile. */
export const identityEvidenceSchema = z.object({
  /** Id of the evidence. */
  id: z.string().optional(),
  /** The sender: an actor, `mailto:…`, the subject of a token, or the issuer's own name for them. */
  subject: z.string(),
  /** The party that states it. */
  issuer: z.string(),
  /** The method of the proof, a URN. */
  method: z.string(),
  /** The strength of the proof: `address`, `domain`, `oauth`, or a level of the issuer. */
  assurance: z.string(),
  /** The agent, or the agents, that it is for. */
  audience: z.union([z.string(), z.array(z.string())]),
  /** Time of issue, ISO 8601. */
  issued_at: z.string(),
  /** The time at which it begins to count, ISO 8601. */
  not_before: z.string().optional(),
  /** The time at which it stops counting, ISO 8601. */
  expires_at: z.string().optional(),
  /** Subjects that the sender acts for; it never widens a right. */
  on_behalf_of: z.array(z.string()).optional(),
  /** Further statements of the issuer. */
  claims: z.record(z.string(), z.unknown()).optional(),
  /** The issuer's own source of it. */
  source: z.record(z.string(), z.unknown()).optional(),
  /** Its proof. */
  proof: identityProofSchema,
})

/** A kind of credential that names its own holder, in a namespace apart from the accounts (`sub`) of the same issuer. */
export type CredentialKind = NonNullable<
  Extract<IdentityEvidence['proof'], { readonly type: 'transport' }>['credential']
>

export type IdentityEvidence = z.infer<typeof identityEvidenceSchema>
