// Defines the settings of the web chat.
import { issuerRuleShape, tokenAlgorithms, tokenRuleShape } from '@postern/http/tokens'
import { parseDuration } from '@postern/message'
import { z } from 'zod'

/** A duration in ms. */
const durationSchema = z
  .string()
  .regex(/^[1-9]\d{0,4}[smhd]$/, 'must be a number and a unit, like "15m" or "1h"')
  .transform(parseDuration)

const originSchema = z
  .string()
  .refine(text => URL.parse(text)?.origin === text, 'must be an origin such as "https://chat.example"')

/** An issuer whose users may chat. Its published keys or a secret shared with the gateway (HS256) verify its tokens. */
const issuerSchema = z
  .strictObject({
    /** The exact `iss` of its tokens. */
    issuer: z.string().min(1).max(512),
    /** The audience that its tokens must name in `aud`. */
    audience: z.string().min(1),
    /** The URL of its public keys. Set either this or `secret`. */
    jwks: z.url({ protocol: /^https?$/, error: 'must be an https URL' }).optional(),
    /** The secret that signs its tokens (HS256). Set either this or `jwks`. */
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
    'accepts only HS256 with "secret", and every other algorithm only with "jwks"',
  )

const tokenSchema = z.strictObject({
  /** The name of the token's holder in this gateway. */
  name: z.string().regex(/^[a-z0-9]([a-z0-9._-]{0,38}[a-z0-9])?$/, 'must be a plain name of at most 40 characters'),
  /** The SHA-256 of the token, in hexadecimal. The configuration never contains the token itself. */
  sha256: z.string().regex(/^[0-9a-f]{64}$/i, 'must be the SHA-256 of the token in hexadecimal'),
})

/** A person: the name of an entry of `auth.tokens`, or a user of one of `auth.issuers`. */
const operatorSchema = z.union([
  z.strictObject({
    /** The name of an entry of `auth.tokens`. */
    token: z.string().min(1),
  }),
  z.strictObject({
    /** An issuer of `auth.issuers`. */
    issuer: z.string().min(1),
    /** The `sub` in that issuer's tokens. */
    subject: z.string().min(1),
  }),
])

const bucketSchema = z
  .string()
  .regex(/^(?!supabase\.)[a-z0-9][a-z0-9._-]{1,61}[a-z0-9]$/, 'must be a plain bucket name')

const embeddedStorageSchema = z.strictObject({
  /** The kind of storage: `embedded` keeps files in the store, and `s3` in a service that speaks S3. */
  kind: z.literal('embedded'),
})

const s3StorageSchema = z.strictObject({
  /** The kind of storage: `embedded` keeps files in the store, and `s3` in a service that speaks S3. */
  kind: z.literal('s3'),
  /** The URL of the service, which may be on this machine or in a private network. */
  endpoint: z.url({ protocol: /^https?$/ }),
  /** The region for which requests are signed. */
  region: z.string().min(1).default('us-east-1'),
  /** The bucket that contains the files. */
  bucket: bucketSchema,
  /** The id of the access key. */
  access_key: z.string().min(1),
  /** The secret of the access key. */
  secret_key: z.string().min(1),
})

export const webConfigSchema = z
  .strictObject({
    /** True if the chat for browsers and apps is open. The default is true in dev mode only. */
    enabled: z.boolean().default(false),
    auth: z
      .strictObject({
        /** The issuers whose tokens admit people. */
        issuers: z.array(issuerSchema).default([]),
        /** The fixed tokens that admit people. */
        tokens: z.array(tokenSchema).default([]),
        ...tokenRuleShape,
      })
      .prefault({}),
    /** The people who decide waiting approvals as operators, in addition to the bearer of the operator token. */
    operators: z.array(operatorSchema).default([]),
    /** True if people see the tool calls that their messages caused (`include=trace`), in addition to the text. `postern export` always shows both to operators. */
    trace: z.boolean().default(false),
    /** The origins whose pages may call the API (CORS). */
    origins: z.array(originSchema).default([]),
    attachments: z
      .strictObject({
        /** The bucket in the addresses of attachments. */
        bucket: bucketSchema.default('agent-inputs'),
        /** The maximum size of one file, in bytes. */
        max_bytes: z
          .number()
          .int()
          .min(1024)
          .max(100 * 1024 * 1024)
          .default(10 * 1024 * 1024),
        /** The maximum size of all files of one person, in bytes. Each file counts as at least 16 KiB. */
        max_total_bytes: z
          .number()
          .int()
          .min(16 * 1024)
          .default(1024 ** 3),
        /** The media types that the gateway accepts, detected from the bytes and not from the name. */
        types: z
          .array(z.string().regex(/^[a-z]+\/(\*|[a-z0-9.+-]+)$/))
          .default(['image/*', 'audio/*', 'video/*', 'application/pdf', 'text/plain']),
        /** The time for which a signed address of a file works. */
        url_ttl: durationSchema.prefault('1h'),
      })
      .prefault({}),
    /** The storage of files in chats. */
    storage: z.discriminatedUnion('kind', [embeddedStorageSchema, s3StorageSchema]).default({ kind: 'embedded' }),
    /** A Supabase project whose signed URLs may name attachments too. */
    supabase: z
      .strictObject({
        /** The origin of the project. */
        project: originSchema,
        /** The project's JWT secret, which signs these URLs. */
        jwt_secret: z.string().min(32),
      })
      .optional(),
    limits: z
      .strictObject({
        /** The maximum size of a request that starts a run, in bytes. */
        run_bytes: z
          .number()
          .int()
          .min(1024)
          .default(4 * 1024 * 1024),
        /** The maximum number of simultaneous runs of one person. */
        runs_per_owner: z.number().int().min(1).default(8),
        /** The maximum number of files in one run. */
        files_per_run: z.number().int().min(0).max(256).default(16),
        /** The maximum number of messages in one session. */
        session_messages: z.number().int().min(1).max(10_000).default(2_000),
        /** The maximum number of sessions, store locations and chats of one person together. */
        threads_per_owner: z.number().int().min(1).default(10_000),
        /** The maximum number of stored entries of one person: messages of sessions and stores, and runs of chats. */
        entries_per_owner: z.number().int().min(1).default(250_000),
        /** The maximum size of all these entries in bytes, without uploads. */
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
      const isFirst = auth.issuers.findIndex(listedIssuer => listedIssuer.issuer === issuer) === index
      const message = 'is listed twice: only one of two entries for an issuer would count'
      if (!isFirst) context.addIssue({ code: 'custom', path: ['auth', 'issuers', index, 'issuer'], message })
    }
    for (const [index, operator] of operators.entries()) {
      const isKnown =
        'token' in operator
          ? auth.tokens.some(({ name }) => name === operator.token)
          : auth.issuers.some(({ issuer }) => issuer === operator.issuer)
      const message = 'must name a token of auth.tokens, or a user of an issuer in auth.issuers'
      if (!isKnown) context.addIssue({ code: 'custom', path: ['operators', index], message })
    }
  })
  .prefault({})

export type WebConfig = z.output<typeof webConfigSchema>
export type WebIssuer = WebConfig['auth']['issuers'][number]
