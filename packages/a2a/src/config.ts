import { parseDuration } from '@postern/core'
import { issuerRuleShape, tokenAlgorithms, tokenRuleShape } from '@postern/http/tokens'
import { z } from 'zod'
import { operationNames, protocolVersions } from './format/wire.ts'

/** A whole number above zero. */
const count = z.number().int().positive()
const headerName = z.string().regex(/^[a-z0-9-]{1,64}$/i, 'must be the name of a header')

const issuerSchema = z.strictObject({
  /** The exact `iss` of its tokens; callers' addresses are at its host. */
  issuer: z.url({ protocol: /^https?$/, error: 'must be an https URL' }).regex(/^\S+$/, 'must not hold blanks'),
  /** Where its public keys are; plain http only reaches origins named in `network.allow_private`. */
  jwks: z.url({ protocol: /^https?$/, error: 'must be an https URL' }),
  /** What its tokens must name in `aud` to be for us. */
  audience: z.string().min(1),
  /** Signature algorithms that its tokens may use. */
  algorithms: z.array(z.enum(tokenAlgorithms)).min(1).default(['ES256']),
  ...issuerRuleShape,
  /** Where callers get their tokens by client credentials; told in the card. */
  token_endpoint: z.url({ protocol: /^https$/, error: 'must be an https URL' }).optional(),
})

const scopeName = z.string().regex(/^[\x21\x23-\x5b\x5d-\x7e]{1,128}$/, 'must be the name of a scope (RFC 6749 §3.3)')

const apiKeySchema = z.strictObject({
  /** Name of the key's holder here. */
  name: z.string().regex(/^[a-z0-9]([a-z0-9._-]{0,38}[a-z0-9])?$/, 'must be a plain name of at most 40 characters'),
  /** SHA-256 of the key, hexadecimal; the configuration never holds the key itself. */
  sha256: z.string().regex(/^[0-9a-f]{64}$/i, 'must be the SHA-256 of the key in hexadecimal'),
  /** Scopes that the key allows; default: all. */
  scopes: z.array(scopeName).optional(),
})

const originSchema = z
  .string()
  .refine(text => URL.parse(text)?.origin === text, 'must be an origin such as "https://agents.example"')

/** What a peer knows us by, where that is not a token of ours for its own origin. */
const peerSchema = z.strictObject({
  /** The origin that the peer serves A2A under. */
  origin: originSchema,
  /** What tokens must name to be for it. */
  audience: z.string().min(1).optional(),
  /** A bearer token that it gave us. */
  token: z.string().min(1).optional(),
  /** An API key that it gave us. */
  api_key: z
    .strictObject({
      /** Header that carries the key. */
      header: headerName,
      /** The key itself. */
      key: z.string().min(1),
    })
    .optional(),
})

const loopback: ReadonlySet<string> = new Set(['127.0.0.1', '::1', 'localhost'])

const grpcSchema = z
  .strictObject({
    /** Address that the gRPC socket listens on. */
    host: z.string().min(1).default('127.0.0.1'),
    /** Port that the gRPC socket listens on. */
    port: z.number().int().min(0).max(65_535),
    /** Host and port that callers use, as the card says them; default: the host of `origin` and `port`. */
    address: z
      .string()
      .regex(/^[a-z0-9.-]+:\d{1,5}$/i, 'must be a host and a port such as "agents.example:443"')
      .optional(),
    /** Certificate and key of the socket, if it ends TLS itself. */
    tls: z
      .strictObject({
        /** File of the certificate chain, PEM. */
        certificate: z.string().min(1),
        /** File of the certificate's private key, PEM. */
        key: z.string().min(1),
      })
      .optional(),
    /** A proxy in front of the socket ends TLS. */
    behind_proxy: z.boolean().default(false),
    /** Calls a minute of one network address; default: 6000, and no limit behind a proxy. */
    per_address: count.optional(),
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
      /** Let callers in who prove nothing (`auth_method: none`). */
      anonymous: z.boolean().default(false),
      /** Issuers of the tokens that count. */
      issuers: z
        .array(issuerSchema)
        .refine(list => new Set(list.map(({ issuer }) => issuer)).size === list.length, 'must not name an issuer twice')
        .default([]),
      /** API keys that callers may send instead of a token. */
      api_keys: z
        .array(apiKeySchema)
        .refine(list => new Set(list.map(({ name }) => name)).size === list.length, 'must not name a key twice')
        .default([]),
      /** Header that callers send their API key in. */
      api_key_header: headerName
        .refine(name => name.toLowerCase() !== 'authorization', 'must be another header than Authorization')
        .default('X-API-Key'),
      /** The scope that each operation asks for, if it is not the default one. */
      scopes: z.partialRecord(z.enum(operationNames), scopeName).default({}),
      ...tokenRuleShape,
    })
    .prefault({}),
  limits: z
    .strictObject({
      /** Bytes of one request. */
      body_bytes: count.default(4 * 1024 * 1024),
      /** How long a blocking SendMessage waits before it answers with the task as it is. */
      wait_seconds: z.number().positive().max(600).default(60),
      /** Tasks that one caller may have open. */
      open_tasks_per_caller: count.default(1_000),
      /** Tasks of one caller; beyond that the gateway deletes the oldest ended ones. */
      tasks_per_caller: count.default(100_000),
      /** Bytes of all tasks of one caller, with attachments; beyond that the gateway deletes the oldest ended ones. */
      bytes_per_caller: count.default(1024 ** 3),
      /** Streams that one caller may have open. */
      streams_per_caller: count.default(100),
      /** Seconds without an event, after which a stream ends. */
      stream_idle_seconds: z.number().positive().max(86_400).default(900),
      /** Seconds that a receiver of push notifications has to answer, and to say what it says. */
      push_seconds: z.number().positive().max(60).default(15),
      /** Ceiling for `agent_chain.max_hops`. */
      max_hops: count.default(5),
    })
    .prefault({}),
  /** How long a task stays after its last change; `"0"` keeps it for ever. */
  task_ttl: z
    .string()
    .regex(/^(?:0|[1-9]\d{0,4}[mhd])$/, 'must be "0", or a number and a unit, like "30d" or "12h"')
    .default('30d')
    .transform(text => (text === '0' ? 0 : parseDuration(text))),
  /** Versions of A2A that the gateway speaks; without `0.3` callers have to name `1.0`. */
  versions: z
    .array(z.enum(protocolVersions))
    .refine(list => list.includes('1.0'), 'must include 1.0')
    .default([...protocolVersions]),
  /** What the gateway offers beside the unary operations; the card says it. */
  capabilities: z
    .strictObject({
      /** Whether callers may stream. */
      streaming: z.boolean().default(true),
      /** Whether callers may subscribe to push notifications. */
      push_notifications: z.boolean().default(true),
      /** Whether authenticated callers get a fuller card; there is one only where callers can prove who they are. */
      extended_card: z.boolean().default(true),
    })
    .prefault({}),
  /** The gRPC binding, on a socket of its own; absent: off. */
  grpc: grpcSchema.optional(),
  /** How our agents call agents elsewhere. */
  client: z
    .strictObject({
      /** Origins that cards of others may name for their interfaces and keys. */
      allowed_origins: z.array(originSchema).default([]),
      /** Hosts that may stop signing their cards although they signed them once. */
      unsigned_hosts: z.array(z.string().regex(/^[a-z0-9.-]+(:\d+)?$/, 'must be a host in lower case')).default([]),
      /** What agents elsewhere accept from us, if that is not a token of ours for their origin. */
      peers: z.array(peerSchema).default([]),
      /** Longest time for one call, with the task that it begins. */
      call_seconds: z.number().positive().max(900).default(120),
      /** Bytes of one answer. */
      answer_bytes: count.default(8 * 1024 * 1024),
    })
    .prefault({}),
  /** Media types that agents take; the card says them, and the gateway refuses others. */
  input_modes: mediaTypes.default(inputModes),
  /** Media types that agents answer with; the card says them. */
  output_modes: mediaTypes.default(outputModes),
})

export type A2aConfig = z.infer<typeof a2aConfigSchema>
export type TrustedIssuerConfig = z.infer<typeof issuerSchema>
export type ApiKeyConfig = z.infer<typeof apiKeySchema>
export type GrpcConfig = NonNullable<A2aConfig['grpc']>
