import { issuerRuleShape, tokenAlgorithms, tokenRuleShape } from '@postern/http/tokens'
import { z } from 'zod'

const durationUnits: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** ms */
const durationSchema = z
  .string()
  .regex(/^[1-9]\d{0,4}[smhd]$/, 'must be a number and a unit, like "15m" or "1h"')
  .transform(text => Number(text.slice(0, -1)) * (durationUnits[text.slice(-1)] ?? Number.NaN))

const originSchema = z
  .string()
  .refine(text => URL.parse(text)?.origin === text, 'must be an origin such as "https://chat.example"')

/** Whose users are let in: by the keys it publishes, or by a secret it shares with us (HS256). */
const issuerSchema = z
  .strictObject({
    /** The exact `iss` of its tokens. */
    issuer: z.string().min(1).max(512),
    audience: z.string().min(1),
    jwks: z.url({ protocol: /^https?$/, error: 'must be an https URL' }).optional(),
    secret: z.string().min(32, 'must have 32 characters or more').optional(),
    algorithms: z
      .array(z.enum([...tokenAlgorithms, 'HS256']))
      .min(1)
      .optional(),
    ...issuerRuleShape,
  })
  .refine(({ jwks, secret }) => (jwks === undefined) !== (secret === undefined), 'needs either "jwks" or "secret"')
  .refine(
    ({ secret, algorithms }) => algorithms?.every(name => (name === 'HS256') === (secret !== undefined)) ?? true,
    'takes HS256 with "secret" alone, and with "jwks" every other algorithm',
  )

const tokenSchema = z.strictObject({
  /** Who comes with it. */
  name: z.string().regex(/^[a-z0-9]([a-z0-9._-]{0,38}[a-z0-9])?$/, 'must be a plain name of at most 40 characters'),
  /** Digest of the token, hexadecimal: the token itself is nowhere. */
  sha256: z.string().regex(/^[0-9a-f]{64}$/i, 'must be the SHA-256 of the token in hexadecimal'),
})

/** The name of a token of `auth.tokens`, or somebody of one of `auth.issuers`. */
const operatorSchema = z.union([
  z.strictObject({ token: z.string().min(1) }),
  z.strictObject({ issuer: z.string().min(1), subject: z.string().min(1) }),
])

const bucketSchema = z
  .string()
  .regex(/^(?!supabase\.)[a-z0-9][a-z0-9._-]{1,61}[a-z0-9]$/, 'must be a plain bucket name')

const s3Schema = z.strictObject({
  kind: z.literal('s3'),
  endpoint: z.url({ protocol: /^https?$/ }),
  region: z.string().min(1).default('us-east-1'),
  bucket: bucketSchema,
  access_key: z.string().min(1),
  secret_key: z.string().min(1),
})

export const webConfigSchema = z
  .strictObject({
    /** Chat for browsers and apps; off unless it is asked for. */
    enabled: z.boolean().default(false),
    auth: z
      .strictObject({
        issuers: z.array(issuerSchema).default([]),
        tokens: z.array(tokenSchema).default([]),
        ...tokenRuleShape,
      })
      .prefault({}),
    /** Who decides what waits for an operator, besides the bearer of the operator token. */
    operators: z.array(operatorSchema).default([]),
    /** Whether people see what was done for them (`include=trace`), not only what was said; operators see it by `postern export`. */
    trace: z.boolean().default(false),
    /** Origins whose pages may call (CORS). */
    origins: z.array(originSchema).default([]),
    attachments: z
      .strictObject({
        bucket: bucketSchema.default('agent-inputs'),
        max_bytes: z
          .number()
          .int()
          .min(1024)
          .max(100 * 1024 * 1024)
          .default(10 * 1024 * 1024),
        /** Of one person, all together; each file counts for 16 KiB at least. */
        max_total_bytes: z
          .number()
          .int()
          .min(16 * 1024)
          .default(1024 ** 3),
        /** By what the bytes are, not by what they are called. */
        types: z
          .array(z.string().regex(/^[a-z]+\/(\*|[a-z0-9.+-]+)$/))
          .default(['image/*', 'audio/*', 'video/*', 'application/pdf', 'text/plain']),
        url_ttl: durationSchema.prefault('1h'),
      })
      .prefault({}),
    storage: z
      .discriminatedUnion('kind', [z.strictObject({ kind: z.literal('embedded') }), s3Schema])
      .default({ kind: 'embedded' }),
    /** A project whose signed URLs name attachments as well. */
    supabase: z.strictObject({ project: originSchema, jwt_secret: z.string().min(32) }).optional(),
    limits: z
      .strictObject({
        run_bytes: z
          .number()
          .int()
          .min(1024)
          .default(4 * 1024 * 1024),
        runs_per_owner: z.number().int().min(1).default(8),
        /** Files of what is said in one run. */
        files_per_run: z.number().int().min(0).max(256).default(16),
        /** Messages of a session's whole list. */
        session_messages: z.number().int().min(1).max(10_000).default(2_000),
        /** Sessions, locations and chats of one person. */
        threads_per_owner: z.number().int().min(1).default(10_000),
        /** What one person has stored in them, each message of a session or store and each run of a chat. */
        entries_per_owner: z.number().int().min(1).default(250_000),
        /** Bytes of it all, without uploads. */
        bytes_per_owner: z
          .number()
          .int()
          .min(1024)
          .default(1024 ** 3),
      })
      .prefault({}),
  })
  .superRefine(({ auth, operators }, context) => {
    for (const [index, { issuer }] of auth.issuers.entries()) {
      const isFirst = auth.issuers.findIndex(each => each.issuer === issuer) === index
      const message = 'stands there already: of two entries for one issuer only one would count'
      if (!isFirst) context.addIssue({ code: 'custom', path: ['auth', 'issuers', index, 'issuer'], message })
    }
    for (const [index, operator] of operators.entries()) {
      const isKnown =
        'token' in operator
          ? auth.tokens.some(({ name }) => name === operator.token)
          : auth.issuers.some(({ issuer }) => issuer === operator.issuer)
      const message = 'must name a token of auth.tokens, or somebody of one of auth.issuers'
      if (!isKnown) context.addIssue({ code: 'custom', path: ['operators', index], message })
    }
  })
  .prefault({})

export type WebConfig = z.output<typeof webConfigSchema>
export type WebIssuer = WebConfig['auth']['issuers'][number]
