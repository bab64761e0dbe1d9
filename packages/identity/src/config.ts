import { toAsciiDomain } from '@postern/core'
import { z } from 'zod'
import { locateDidDocument } from './did/web.ts'

const name = z.string().min(1).max(512)

const issuerSchema = z
  .string()
  .refine(
    issuer => locateDidDocument(issuer) !== undefined || toAsciiDomain(issuer) === issuer,
    'must be a bare host in lower case such as "slack.example" (v0.1), or a DID such as "did:web:slack.example" (v0.2)',
  )

const trustedIssuerSchema = z.strictObject({
  /** Exactly as its evidence names it: a host and a DID are two issuers. */
  issuer: issuerSchema,
  methods: z.array(name).min(1),
  assurance: z.array(name).min(1),
  /** Whom it may speak of, by whole segments: `slack:T123/`. */
  subject_prefixes: z.array(name).min(1),
})

export const identityConfigSchema = z.strictObject({
  /** Whose word counts, about what and whom; nobody's where this is empty. An issuer may stand here several times. */
  trusted_issuers: z.array(trustedIssuerSchema).default([]),
  /** Callers (by the issuer and subject of their token or key) whose word about their own platform counts. */
  connectors: z.array(z.strictObject({ issuer: name, subject: name })).default([]),
})

export type IdentityConfig = z.infer<typeof identityConfigSchema>
export type TrustedIssuer = z.infer<typeof trustedIssuerSchema>
