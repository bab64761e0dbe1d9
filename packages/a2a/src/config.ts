// Defines the settings of the A2A channel.
import { issuerRuleShape, tokenAlgorithms, tokenRuleShape } from '@postern/http/tokens'
import { parseDuration } from '@postern/message'
import { z } from 'zod'
import { operationNames, protocolVersions } from './format/wire.ts'

/** A whole number above zero. */
const positiveInteger = z.number().int().positive()
const headerName = z.string().regex(/^[a-z0-9-]{1,64}$/i, 'must be the name of a header')

const issuerSchema = z.strictObject({
  /** The exact `iss` of its tokens. The addresses of callers are at its host. */
  issuer: z.url({ protocol: /^https?$/, error: 'must be an https URL' }).regex(/^\S+$/, 'must not hold blanks'),
  /** The address of its public keys. Plain http is only possible for origins in `network.allow_private`. */
  jwks: z.url({ protocol: /^https?$/, error: 'must be an https URL' }),
  /** The value that its tokens must have in `aud` to be for this gateway. */
  audience: z.string().min(1),
  /** The signature algorithms that its tokens may use. */
  algorithms: z.array(z.enum(tokenAlgorithms)).min(1).default(['ES256']),
  ...issuerRuleShape,
  /** The token endpoint for client credentials, which the card names. */
  token_endpoint: z.url({ protocol: /^https$/, error: 'must be an https URL' }).optional(),
})

const scopeName = z.string().regex(/^[\x21\x23-\x5b\x5d-\x7e]{1,128}$/, 'must be the name of a scope (RFC 6749 §3.3)')

const apiKeySchema = z.strictObject({
  /** The name of the key's holder at this gateway. */
  name: z.string().regex(/^[a-z0-9]([a-z0-9._-]{0,38}[a-z0-9])?$/, 'must be a plain name of at most 40 characters'),
  /** The SHA-256 of the key in hexadecimal. The configuration never contains the key itself. */
  sha256: z.string().regex(/^[0-9a-f]{64}$/i, 'must be the SHA-256 of the key in hexadecimal'),
  /** The scopes that the key allows. Default: all. */
  scopes: z.array(scopeName).optional(),
})

const originSchema = z
  .string()
  .refine(text => URL.parse(text)?.origin === text, 'must be an origin such as "https://agents.example"')

/** The credentials of this gateway at a peer, if they are not a token of ours for the peer's own origin. */
const peerSchema = z.strictObject({
  /** The origin at which the peer serves A2A. */
  origin: originSchema,
  /** The audience that tokens for this peer must name. */
  audience: z.string().min(1).optional(),
  /** The bearer token that the peer issued to us. */
  token: z.string().min(1).optional(),
  /** The API key that the peer issued to us. */
  api_key: z
    .strictObject({
      /** The header that contains the key. */
      header: headerName,
      /** The key itself. */
      key: z.string().min(1),
    })
    .optional(),
})

const loopbackHosts: ReadonlySet<string> = new Set(['127.0.0.1', '::1', 'localhost'])

const grpcSchema = z
  .strictObject({
    /** The address that the gRPC socket listens on. */
    host: z.string().min(1).default('127.0.0.1'),
    /** The port that the gRPC socket listens on. */
    port: z.number().int().min(0).max(65_535),
    /** The host and port that callers use and the card names. Default: the host of `origin` and `port`. */
    address: z
      .string()
      .regex(/^[a-z0-9.-]+:\d{1,5}$/i, 'must be a host and a port such as "agents.example:443"')
      .optional(),
    /** The certificate and key of the socket, if it terminates TLS itself. */
    tls: z
      .strictObject({
        /** The file of the certificate chain, PEM. */
        certificate: z.string().min(1),
        /** The file of the certificate's private key, PEM. */
        key: z.string().min(1),
      })
      .optional(),
    /** True if a proxy in front of the socket terminates TLS. */
    behind_proxy: z.boolean().default(false),
    /** True to name the gRPC interface in the card. Some clients fail on an address without a scheme. */
    in_card: z.boolean().default(true),
    /** The most calls a minute from one network address. Default: 6000, and no limit behind a proxy. */
    per_address: positiveInteger.optional(),
  })
  .refine(({ host, tls, behind_proxy }) => tls || behind_proxy || loopbackHosts.has(host), {
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
      /** True to admit callers without credentials (`auth_method: none`). */
      anonymous: z.boolean().default(false),
      /** The issuers whose tokens the gateway accepts. */
      issuers: z
        .array(issuerSchema)
        .refine(list => new Set(list.map(({ issuer }) => issuer)).size === list.length, 'must not name an issuer twice')
        .default([]),
      /** The API keys that callers may send instead of a token. */
      api_keys: z
        .array(apiKeySchema)
        .refine(list => new Set(list.map(({ name }) => name)).size === list.length, 'must not name a key twice')
        .default([]),
      /** The header in which callers send their API key. */
      api_key_header: headerName
        .refine(name => name.toLowerCase() !== 'authorization', 'must be another header than Authorization')
        .default('X-API-Key'),
      /** The scope that each operation requires, if it is not the default one. */
      scopes: z.partialRecord(z.enum(operationNames), scopeName).default({}),
      ...tokenRuleShape,
    })
    .prefault({}),
  limits: z
    .strictObject({
      /** The most bytes of one request. */
      body_bytes: positiveInteger.default(4 * 1024 * 1024),
      /** The longest time that a blocking SendMessage waits before it returns the task in its present state. Default: the agent's `deadline`. */
      wait_seconds: z.number().positive().max(86_400).optional(),
      /** The most open tasks of one caller. */
      open_tasks_per_caller: positiveInteger.default(1_000),
      /** The most tasks of one caller. Above it, the gateway deletes the oldest ended ones. */
      tasks_per_caller: positiveInteger.default(100_000),
      /** The most bytes of all tasks of one caller, with attachments. Above it, the gateway deletes the oldest ended ones. */
      bytes_per_caller: positiveInteger.default(1024 ** 3),
      /** The most open streams of one caller. */
      streams_per_caller: positiveInteger.default(100),
      /** The number of seconds without an event after which a stream ends. */
      stream_idle_seconds: z.number().positive().max(86_400).default(900),
      /** The number of seconds within which a receiver of push notifications must answer completely. */
      push_seconds: z.number().positive().max(60).default(15),
      /** The maximum of `agent_chain.max_hops`. */
      max_hops: positiveInteger.default(5),
    })
    .prefault({}),
  /** The time for which the gateway keeps a task after its last change. `"0"` stores it for ever. */
  task_ttl: z
    .string()
    .regex(/^(?:0|[1-9]\d{0,4}[mhd])$/, 'must be "0", or a number and a unit, like "30d" or "12h"')
    .default('30d')
    .transform(text => (text === '0' ? 0 : parseDuration(text))),
  /** The versions of A2A that the gateway supports. Without `0.3`, callers have to name `1.0`. */
  versions: z
    .array(z.enum(protocolVersions))
    .refine(list => list.includes('1.0'), 'must include 1.0')
    .default([...protocolVersions]),
  /** The features that the gateway offers besides the unary operations. The card declares them. */
  capabilities: z
    .strictObject({
      /** True if callers may stream. */
      streaming: z.boolean().default(true),
      /** True if callers may subscribe to push notifications. */
      push_notifications: z.boolean().default(true),
      /**
       * True to offer authenticated callers an extended card, which is only possible if callers can prove who they are. By default there is none
       * if `auth.anonymous` is on, because many clients fetch it if a card names it, and fail at the 401 (A2A §13.3).
       */
      extended_card: z.boolean().optional(),
    })
    .prefault({}),
  /** The origins whose pages may read the cards and call (CORS), or `"*"` for all. */
  cors: z.union([z.literal('*'), z.array(originSchema)]).default([]),
  /** The gRPC binding on a socket of its own. If it is absent, the binding is off. */
  grpc: grpcSchema.optional(),
  /** The settings for our agents' calls to agents elsewhere. */
  client: z
    .strictObject({
      /** The origins that foreign cards may name for their interfaces and keys. */
      allowed_origins: z.array(originSchema).default([]),
      /** The hosts that may stop signing their cards although they have signed them before. */
      unsigned_hosts: z.array(z.string().regex(/^[a-z0-9.-]+(:\d+)?$/, 'must be a host in lower case')).default([]),
      /** The agents elsewhere that accept other credentials from us than a token of ours for their origin. */
      peers: z.array(peerSchema).default([]),
      /** The longest time of one call with the task that it begins, in seconds. */
      call_seconds: z.number().positive().max(900).default(120),
      /** The most bytes of one answer. */
      answer_bytes: positiveInteger.default(8 * 1024 * 1024),
    })
    .prefault({}),
  /** The media types that agents accept. The card names them, and the gateway rejects others. */
  input_modes: mediaTypes.default(inputModes),
  /** The media types of the agents' answers. The card names them. */
  output_modes: mediaTypes.default(outputModes),
})

export type A2aConfig = z.infer<typeof a2aConfigSchema>
export type TrustedIssuerConfig = z.infer<typeof issuerSchema>
export type ApiKeyConfig = z.infer<typeof apiKeySchema>
export type GrpcConfig = NonNullable<A2aConfig['grpc']>
