import { issuerRuleShape, tokenAlgorithms, tokenRuleShape } from '@postern/http/tokens'
import { z } from 'zod'
import { operationNames } from './format/operation-names.ts'
import { protocolVersions } from './format/version.ts'

const durationUnits: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 }
const durationPattern = /^(?:0|([1-9]\d{0,4})([mhd]))$/

/** ms */
function readDuration(text: string): number {
  const [, count = '0', unit = 'm'] = durationPattern.exec(text) ?? []
  return Number(count) * (durationUnits[unit] ?? Number.NaN)
}

const issuerSchema = z.strictObject({
  /** The exact `iss` of its tokens; callers' addresses are at its host. */
  issuer: z.url({ protocol: /^https?$/, error: 'must be an https URL' }).regex(/^\S+$/, 'must not hold blanks'),
  /** Where its public keys are; plain http only reaches origins named in `network.allow_private`. */
  jwks: z.url({ protocol: /^https?$/, error: 'must be an https URL' }),
  /** What its tokens must name in `aud` to be meant for us. */
  audience: z.string().min(1),
  algorithms: z.array(z.enum(tokenAlgorithms)).min(1).default(['ES256']),
  ...issuerRuleShape,
  /** Where callers get their tokens by client credentials; told in the card. */
  token_endpoint: z.url({ protocol: /^https$/, error: 'must be an https URL' }).optional(),
})

const scopeName = z.string().regex(/^[\x21\x23-\x5b\x5d-\x7e]{1,128}$/, 'must be the name of a scope (RFC 6749 §3.3)')

const apiKeySchema = z.strictObject({
  /** Who comes with it: its holder's name here. */
  name: z.string().regex(/^[a-z0-9]([a-z0-9._-]{0,38}[a-z0-9])?$/, 'must be a plain name of at most 40 characters'),
  /** Digest of the key, hexadecimal: the key itself is nowhere. */
  sha256: z.string().regex(/^[0-9a-f]{64}$/i, 'must be the SHA-256 of the key in hexadecimal'),
  /** What it allows; all where this is left out. */
  scopes: z.array(scopeName).optional(),
})

const originSchema = z
  .string()
  .refine(text => URL.parse(text)?.origin === text, 'must be an origin such as "https://agents.example"')

/** What a peer knows us by, where that is not a token of ours for its own origin. */
const peerSchema = z.strictObject({
  origin: originSchema,
  /** What tokens must name to be meant for it. */
  audience: z.string().min(1).optional(),
  /** A bearer token that it gave us. */
  token: z.string().min(1).optional(),
  /** An API key that it gave us. */
  api_key: z.strictObject({ header: z.string().regex(/^[a-z0-9-]{1,64}$/i), key: z.string().min(1) }).optional(),
})

const loopback: ReadonlySet<string> = new Set(['127.0.0.1', '::1', 'localhost'])

const grpcSchema = z
  .strictObject({
    host: z.string().min(1).default('127.0.0.1'),
    port: z.number().int().min(0).max(65_535),
    /** Where callers reach it, as the card tells them: host and port, no scheme. Default: the host of `origin` and `port`. */
    address: z
      .string()
      .regex(/^[a-z0-9.-]+:\d{1,5}$/i, 'must be a host and a port such as "agents.example:443"')
      .optional(),
    /** PEM files. */
    tls: z.strictObject({ certificate: z.string().min(1), key: z.string().min(1) }).optional(),
    /** TLS ends in front of it, although it listens on a network. */
    behind_proxy: z.boolean().default(false),
    /** Calls a minute of one network address; default 6000, and no limit behind a proxy, whose address all have. */
    per_address: z.number().int().positive().optional(),
  })
  .refine(({ host, tls, behind_proxy }) => tls || behind_proxy || loopback.has(host), {
    path: ['tls'],
    error: 'is needed where it listens on a network; or set behind_proxy, when a proxy ends TLS',
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
      api_keys: z
        .array(apiKeySchema)
        .refine(list => new Set(list.map(({ name }) => name)).size === list.length, 'names a key twice')
        .default([]),
      api_key_header: z
        .string()
        .regex(/^[a-z0-9-]{1,64}$/i, 'must be the name of a header')
        .refine(name => name.toLowerCase() !== 'authorization', 'must be another header than Authorization')
        .default('X-API-Key'),
      /** The scope for each operation, where it is to be called otherwise. */
      scopes: z.partialRecord(z.enum(operationNames), scopeName).default({}),
      ...tokenRuleShape,
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
      /** Tasks that one caller may have open. */
      open_tasks_per_caller: z.number().int().positive().default(1_000),
      /** Tasks that are kept of one caller; beyond that the oldest that have ended go. */
      tasks_per_caller: z.number().int().positive().default(100_000),
      /** Bytes of all that was said in the tasks of one caller, attachments included; beyond that the oldest that have ended go. */
      bytes_per_caller: z
        .number()
        .int()
        .positive()
        .default(1024 ** 3),
      /** Streams that one caller may have open. */
      streams_per_caller: z.number().int().positive().default(100),
      /** A stream on which nothing happens for so long ends. */
      stream_idle_seconds: z.number().positive().max(86_400).default(900),
      /** A receiver of notifications has this long to answer, and as much to say. */
      push_seconds: z.number().positive().max(60).default(15),
      /** Ceiling for `agent_chain.max_hops`. */
      max_hops: z.number().int().positive().default(5),
    })
    .prefault({}),
  /** Tasks in which nothing has happened for so long are taken out, with all that was said in them; "0": they are kept. */
  task_ttl: z
    .string()
    .regex(durationPattern, 'must be "0", or a number and a unit, like "30d" or "12h"')
    .default('30d')
    .transform(readDuration),
  /** What is spoken; without 0.3, callers have to name 1.0. */
  versions: z
    .array(z.enum(protocolVersions))
    .refine(list => list.includes('1.0'), 'must include 1.0')
    .default([...protocolVersions]),
  /** What is offered beside the unary operations; told in the card. */
  capabilities: z
    .strictObject({
      streaming: z.boolean().default(true),
      push_notifications: z.boolean().default(true),
      /** A fuller card for those who say who they are; there only is one where they can. */
      extended_card: z.boolean().default(true),
    })
    .prefault({}),
  /** The gRPC binding, on a socket of its own; off where this is left out. */
  grpc: grpcSchema.optional(),
  /** How our agents call agents elsewhere. */
  client: z
    .strictObject({
      /** Origins that cards of others may name for their interfaces and keys. */
      allowed_origins: z.array(originSchema).default([]),
      /** Hosts that signed their cards once and need not any more: a person has agreed. */
      unsigned_hosts: z.array(z.string().regex(/^[a-z0-9.-]+(:\d+)?$/, 'must be a host in lower case')).default([]),
      peers: z.array(peerSchema).default([]),
      /** Longest time for one call, following its task included. */
      call_seconds: z.number().positive().max(900).default(120),
      answer_bytes: z
        .number()
        .int()
        .positive()
        .default(8 * 1024 * 1024),
    })
    .prefault({}),
  /** What a part may be; told in the card and enforced. */
  input_modes: mediaTypes.default(inputModes),
  output_modes: mediaTypes.default(outputModes),
})

export type A2aConfig = z.infer<typeof a2aConfigSchema>
export type TrustedIssuerConfig = z.infer<typeof issuerSchema>
export type ApiKeyConfig = z.infer<typeof apiKeySchema>
export type GrpcConfig = NonNullable<A2aConfig['grpc']>
