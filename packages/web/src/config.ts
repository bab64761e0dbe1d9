import { parseDuration } from '@postern/core'
import { issuerRuleShape, tokenAlgorithms, tokenRuleShape } from '@postern/http/tokens'
import { z } from 'zod'

/** ms */
const durationSchema = z
  .string()
  .regex(/^[1-9]\d{0,4}[smhd]$/, 'must be a number and a unit, like "15m" or "1h"')
  .transform(parseDuration)

const originSchema = z
  .string()
  .refine(text => URL.parse(text)?.origin === text, 'must be an origin such as "https://chat.example"')

/** Whose users are let in: by the keys it publishes, or by a secret it shares with us (HS256). */
const issuerSchema = z
  .strictObject({
    /** The exact `iss` of its tokens. */
    issuer: z.string().min(1).max(512),
    /** What its tokens must name in `aud`. */
    audience: z.string().min(1),
    /** Where its public keys are; either this or `secret`. */
    jwks: z.url({ protocol: /^https?$/, error: 'must be an https URL' }).optional(),
    /** Secret that signs its tokens (HS256); either this or `jwks`. */
    secret: z.string().min(32, 'must have 32 characters or more').optional(),
    /** Signature algorithms that its tokens may use. */
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
  /** Name of the token's holder here. */
  name: z.string().regex(/^[a-z0-9]([a-z0-9._-]{0,38}[a-z0-9])?$/, 'must be a plain name of at most 40 characters'),
  /** SHA-256 of the token, hexadecimal; the configuration never holds the token itself. */
  sha256: z.string().regex(/^[0-9a-f]{64}$/i, 'must be the SHA-256 of the token in hexadecimal'),
})

/** The name of a token of `auth.tokens`, or somebody of one of `auth.issuers`. */
const operatorSchema = z.union([
  z.strictObject({
    /** Name of an entry of `auth.tokens`. */
    token: z.string().min(1),
  }),
  z.strictObject({
    /** One of `auth.issuers`. */
    issuer: z.string().min(1),
    /** The `sub` of that issuer's tokens. */
    subject: z.string().min(1),
  }),
])

const bucketSchema = z
  .string()
  .regex(/^(?!supabase\.)[a-z0-9][a-z0-9._-]{1,61}[a-z0-9]$/, 'must be a plain bucket name')

const embeddedSchema = z.strictObject({
  /** `embedded` keeps files in the store, `s3` at a service that speaks S3. */
  kind: z.literal('embedded'),
})

const s3Schema = z.strictObject({
  /** `embedded` keeps files in the store, `s3` at a service that speaks S3. */
  kind: z.literal('s3'),
  /** Address of the service. */
  endpoint: z.url({ protocol: /^https?$/ }),
  /** Region that requests are signed for. */
  region: z.string().min(1).default('us-east-1'),
  /** Bucket that holds the files. */
  bucket: bucketSchema,
  /** Id of the access key. */
  access_key: z.string().min(1),
  /** The access key's secret. */
  secret_key: z.string().min(1),
})

export const webConfigSchema = z
  .strictObject({
    /** Chat for browsers and apps; on in dev mode unless the file says otherwise. */
    enabled: z.boolean().default(false),
    auth: z
      .strictObject({
        /** Issuers of the tokens that let people in. */
        issuers: z.array(issuerSchema).default([]),
        /** Fixed tokens that let people in. */
        tokens: z.array(tokenSchema).default([]),
        ...tokenRuleShape,
      })
      .prefault({}),
    /** Who decides what waits for an operator, besides the bearer of the operator token. */
    operators: z.array(operatorSchema).default([]),
    /** Whether people see the tool calls for them (`include=trace`), not only the words; `postern export` shows both to operators. */
    trace: z.boolean().default(false),
    /** Origins whose pages may call (CORS). */
    origins: z.array(originSchema).default([]),
    attachments: z
      .strictObject({
        /** Bucket that addresses of attachments name. */
        bucket: bucketSchema.default('agent-inputs'),
        /** Bytes of one file. */
        max_bytes: z
          .number()
          .int()
          .min(1024)
          .max(100 * 1024 * 1024)
          .default(10 * 1024 * 1024),
        /** Bytes of all files of one person; each file counts for 16 KiB at least. */
        max_total_bytes: z
          .number()
          .int()
          .min(16 * 1024)
          .default(1024 ** 3),
        /** Media types that the gateway takes, by the bytes and not by the name. */
        types: z
          .array(z.string().regex(/^[a-z]+\/(\*|[a-z0-9.+-]+)$/))
          .default(['image/*', 'audio/*', 'video/*', 'application/pdf', 'text/plain']),
        /** How long a signed address of a file works. */
        url_ttl: durationSchema.prefault('1h'),
      })
      .prefault({}),
    /** Where files of chats are. */
    storage: z.discriminatedUnion('kind', [embeddedSchema, s3Schema]).default({ kind: 'embedded' }),
    /** A project whose signed URLs name attachments as well. */
    supabase: z
      .strictObject({
        /** Origin of the project. */
        project: originSchema,
        /** The project's JWT secret, which signs these URLs. */
        jwt_secret: z.string().min(32),
      })
      .optional(),
    limits: z
      .strictObject({
        /** Bytes of the request that begins a run. */
        run_bytes: z
          .number()
          .int()
          .min(1024)
          .default(4 * 1024 * 1024),
        /** Runs of one person at a time. */
        runs_per_owner: z.number().int().min(1).default(8),
        /** Files of one run. */
        files_per_run: z.number().int().min(0).max(256).default(16),
        /** Messages of one session. */
        session_messages: z.number().int().min(1).max(10_000).default(2_000),
        /** Sessions, store locations and chats of one person. */
        threads_per_owner: z.number().int().min(1).default(10_000),
        /** Entries that one person has stored: messages of sessions and stores, and runs of chats. */
        entries_per_owner: z.number().int().min(1).default(250_000),
        /** Bytes of all these entries, without uploads. */
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
