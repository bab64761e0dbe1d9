import { z } from 'zod'

/** Asymmetric signatures only: a shared secret proves nothing to a third party, and `none` nothing to anybody. */
export const tokenAlgorithms = [
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
  'PS256',
  'PS384',
  'PS512',
  'RS256',
  'RS384',
  'RS512',
] as const

const issuerSchema = z.strictObject({
  /** The exact `iss` of its tokens; callers' addresses are at its host. */
  issuer: z.url({ protocol: /^https?$/, error: 'must be an https URL' }).regex(/^\S+$/, 'must not hold blanks'),
  /** Where its public keys are; plain http only reaches origins named in `network.allow_private`. */
  jwks: z.url({ protocol: /^https?$/, error: 'must be an https URL' }),
  /** What its tokens must name in `aud` to be meant for us. */
  audience: z.string().min(1),
  algorithms: z.array(z.enum(tokenAlgorithms)).min(1).default(['ES256']),
  /** Accept only `typ: at+jwt` (RFC 9068). */
  require_at_jwt: z.boolean().default(false),
})

const inputModes = [
  'text/plain',
  'text/markdown',
  'text/html',
  'text/csv',
  'application/json',
  'application/pdf',
  'application/zip',
  'application/octet-stream',
  'image/png',
  'image/jpeg',
  'image/gif',
  'image/webp',
  'audio/mpeg',
  'audio/ogg',
  'audio/wav',
  'video/mp4',
]
const outputModes = ['text/markdown', 'text/plain', 'text/html', 'application/json', 'application/octet-stream']

const mediaTypes = z.array(z.string().regex(/^[\w!#$&^.+-]+\/[\w!#$&^.+-]+$/, 'must be a media type')).min(1)

export const a2aConfigSchema = z.strictObject({
  auth: z
    .strictObject({
      /** Let callers in who prove nothing. */
      anonymous: z.boolean().default(false),
      issuers: z
        .array(issuerSchema)
        .refine(list => new Set(list.map(({ issuer }) => issuer)).size === list.length, 'names an issuer twice')
        .default([]),
      /** How far clocks may differ. */
      clock_tolerance_seconds: z.number().int().min(0).max(60).default(30),
    })
    .prefault({}),
  limits: z
    .strictObject({
      body_bytes: z
        .number()
        .int()
        .positive()
        .default(4 * 1024 * 1024),
      /** How long a blocking SendMessage waits before it answers with the task as it is. */
      wait_seconds: z.number().positive().max(600).default(60),
      /** Ceiling for `agent_chain.max_hops`. */
      max_hops: z.number().int().positive().default(5),
    })
    .prefault({}),
  /** What a part may be; told in the card and enforced. */
  input_modes: mediaTypes.default(inputModes),
  output_modes: mediaTypes.default(outputModes),
})

export type A2aConfig = z.infer<typeof a2aConfigSchema>
export type IssuerConfig = z.infer<typeof issuerSchema>
