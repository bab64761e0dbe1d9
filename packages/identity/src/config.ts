// Declares which issuers of identity evidence, and which connectors, the operator trusts.
import { toAsciiDomain } from '@postern/message'
import { z } from 'zod'
import { locateDidDocument } from './did/did-document.ts'

const configNameSchema = z.string().min(1).max(512)

const issuerSchema = z
  .string()
  .refine(
    issuer => locateDidDocument(issuer) !== undefined || toAsciiDomain(issuer) === issuer,
    'must be a bare host in lower case such as "slack.example" (v0.1), or a DID such as "did:web:slack.example" (v0.2)',
  )

const trustedIssuerSchema = z.strictObject({
  /** The exact issuer in its evidence. A host and a DID are two issuers. */
  issuer: issuerSchema,
  /** The methods (URNs) that its evidence may name. */
  methods: z.array(configNameSchema).min(1),
  /** The levels of assurance that its evidence may name. */
  assurance: z.array(configNameSchema).min(1),
  /** The subjects that the issuer may describe, as prefixes of whole segments: `slack:T123/`. */
  subject_prefixes: z.array(configNameSchema).min(1),
})

export const identityConfigSchema = z.strictObject({
  /** The issuers whose evidence counts, and the subjects of that evidence. An issuer may be listed several times. */
  trusted_issuers: z.array(trustedIssuerSchema).default([]),
  /** The callers that may assert identities of their own platform, by the issuer and subject of their token or key. */
  connectors: z
    .array(
      z.strictObject({
        /** Issuer of the connector's token, or of its key. */
        issuer: configNameSchema,
        /** Subject of the connector's token, or of its key. */
        subject: configNameSchema,
      }),
    )
    .default([]),
})

export type IdentityConfig = z.infer<typeof identityConfigSchema>
export type TrustedIssuer = z.infer<typeof trustedIssuerSchema>
