// The schema of the configuration file, without the members of channels.
import { agentConfigSchema } from '@postern/agents'
import { identityConfigSchema } from '@postern/identity'
import { toAsciiDomain } from '@postern/message'
import { paymentsConfigSchema, requirementsConfigSchema } from '@postern/requirements'
import { z } from 'zod'
import { loopConfigSchema } from './loops.ts'

const originSchema = z
  .string()
  .transform(text => text.replace(/\/$/, ''))
  .refine(isOrigin, 'must be an https origin with a two-label host and no path, such as "https://agents.example"')

function isOrigin(text: string): boolean {
  const url = URL.parse(text)
  return url?.origin === text && url.protocol === 'https:' && toAsciiDomain(url.hostname) !== undefined
}

const handleHostSchema = z
  .string()
  .refine(
    name => toAsciiDomain(name) !== undefined,
    'must be a domain name without scheme or port, such as "example.com"',
  )
  .transform(name => toAsciiDomain(name) ?? name)

const perMinuteSchema = z.int().positive()

export const limitsConfigSchema = z.strictObject({
  /** Requests of one network address per minute; the count precedes everything else. */
  per_address: perMinuteSchema.optional(),
  /** Messages of one sending host per minute. */
  per_host: perMinuteSchema.optional(),
  /** Messages of one sender per minute; behind a connector, of one of its people. */
  per_identity: perMinuteSchema.optional(),
  /** Messages per minute of one connector, of all its people together; it counts instead of `limits.per_host`. */
  per_connector: perMinuteSchema.optional(),
  /** Messages per minute of one sender who proves nothing, and of all of them at one network address together. */
  per_unverified: perMinuteSchema.optional(),
  /** Messages to one agent per minute; half of them from senders who prove nothing. */
  per_agent: perMinuteSchema.optional(),
  /** Bytes of all bodies of requests and mails at a time: an eighth for small ones, and half of the rest for one channel. */
  held_bytes: z
    .int()
    .positive()
    .default(64 * 1024 * 1024),
  /** The gateway refuses messages of senders beyond these bytes. */
  stored: z
    .strictObject({
      /** Bytes stored for one sender who proves nothing, by the claimed name. */
      per_unverified: z.int().positive().optional(),
      /** Bytes stored for one proven sender. */
      per_identity: z.int().positive().optional(),
      /** Bytes stored for all senders together who prove nothing. */
      unverified: z.int().positive().optional(),
    })
    .prefault({}),
  /** Bytes of the embedded store's disk to keep free. Below it the gateway refuses senders who prove nothing, below half of it everybody. */
  free_bytes: z.int().nonnegative().optional(),
  /** Limits that end conversations of agents with each other. */
  loop: loopConfigSchema.prefault({}),
})

/** The limits outside of dev mode that the file does not set. */
export const productionLimits = {
  per_address: 600,
  per_host: 600,
  per_identity: 120,
  per_connector: 600,
  per_unverified: 30,
  per_agent: 3_000,
} as const

/** Byte limits that production has by default, like the counts of `productionLimits`. */
export const productionStorage = {
  stored: {
    per_unverified: 64 * 1024 * 1024,
    per_identity: 10 * 1024 * 1024 * 1024,
    unverified: 1024 * 1024 * 1024,
  },
  free_bytes: 512 * 1024 * 1024,
} as const

/** A role of a gateway among several at one database. */
type GatewayRole = (typeof gatewayRoles)[number]

const gatewayRoles = ['ingress', 'worker'] as const

/** Returns true if a gateway of this configuration has a role. */
export function hasRole({ roles }: { readonly roles: readonly GatewayRole[] }, role: GatewayRole): boolean {
  return roles.includes(role)
}

const daysSchema = z.number().nonnegative()

const privateOriginsSchema = z
  .array(
    z.string().refine(text => URL.parse(text)?.origin === text, 'must be an origin such as "http://10.0.0.5:8080"'),
  )
  .default([])

const networkConfigSchema = z.strictObject({
  /** Resolvers for SPF, DKIM, DMARC and MX; default: the system's, in dev mode the simulation's. */
  dns: z.array(z.string().regex(/^(\d+\.\d+\.\d+\.\d+|\[[0-9a-f:]+\])(:\d+)?$/i, 'must be "address:port"')).optional(),
  /** Exact origins at private addresses that addresses of this configuration may name; those that peers name stay public. */
  allow_private: privateOriginsSchema,
  /** Exact origins at private addresses that callers of A2A may name as receivers of push notifications. */
  allow_private_push: privateOriginsSchema,
  /** Dev mode only: `{ "mastodon.test": 9001 }` sends `https://mastodon.test/…` as plain HTTP to that port of this machine. */
  loopback: z.record(z.string(), z.int().min(1).max(65_535)).default({}),
  /** Addresses and networks of reverse proxies whose `X-Forwarded-For` counts; default: this machine's where `listen` is loopback. */
  trusted_proxies: z.array(z.union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()])).optional(),
})

/** The members of the configuration file, without those of channels. */
export const ownShape = {
  /** The location of the JSON Schema of this file, for editors; the gateway does not read it. */
  $schema: z.string().optional(),
  /** Public address of the gateway; its host is the domain of every address, unless `handle_host` names another. */
  origin: originSchema,
  /** The domain of every `@agent@domain`, if it is not the origin's host: its WebFinger must redirect to the origin. */
  handle_host: handleHostSchema.optional(),
  listen: z
    .strictObject({
      /** Address that the gateway listens on; a proxy in front of it ends TLS. */
      host: z.string().default('127.0.0.1'),
      /** Port that the gateway listens on; 0 takes a free one. */
      port: z.int().min(0).max(65_535).default(8787),
    })
    .prefault({}),
  /** Folder of the embedded store, the keys and the attachments; relative to the configuration file. */
  data: z.string().default('.postern'),
  /** `sqlite` is the embedded store; `postgres://user:password@host:5432/database` is PostgreSQL, for several gateways. */
  store: z.string().default('sqlite'),
  /** The work of this gateway if several share PostgreSQL: `ingress` takes messages in, `worker` answers and delivers; default: both. */
  roles: z
    .array(z.enum(gatewayRoles))
    .min(1)
    .default([...gatewayRoles]),
  /** Bearer token of the operator's API: `start` requires it with 16 characters or more, and dev mode makes one up. */
  operator_token: z.string().min(1, 'must not be empty').optional(),
  /** Dev mode, the only mode that allows `network.loopback` and private addresses of this machine. */
  dev: z.boolean().default(false),
  /** The agent that answers at `/a2a` and has the host's agent card; default: the first one. */
  default_agent: z.string().optional(),
  /** The agents by their names, which are the local parts of their addresses. */
  agents: z
    .record(z.string(), agentConfigSchema)
    .refine(agents => Object.keys(agents).length > 0, 'needs at least one agent'),
  identity: identityConfigSchema.prefault({}),
  requirements: requirementsConfigSchema.prefault({}),
  /** The provider that tells the gateway of payments; without it no agent can require a payment. */
  payments: paymentsConfigSchema.optional(),
  network: networkConfigSchema.prefault({}),
  limits: limitsConfigSchema.prefault({}),
  /** Ages in days at which the gateway deletes what it keeps. 0 keeps it without end. */
  retention: z
    .strictObject({
      /** Days that messages stay, with all that belongs to them. */
      messages_days: daysSchema.default(0),
      /** Days that the raw bytes of a message stay, which signatures and replay need. */
      raw_days: daysSchema.default(0),
      /** Days that the files of a message stay. */
      files_days: daysSchema.default(0),
      /** Days that messages of senders who prove nothing stay. */
      unproven_days: daysSchema.default(30),
      /** Days that entries of the list of refusals stay. */
      refused_days: daysSchema.default(30),
    })
    .prefault({}),
  delivery: z
    .strictObject({
      /** Seconds before the second try; doubles with each further one. */
      retry_after: z.number().positive().default(15),
      /** Hours from the first attempt to the last one; then a delivery is a dead letter, and a turn fails. */
      give_up_after_hours: z.number().positive().default(48),
    })
    .prefault({}),
  telemetry: z
    .strictObject({
      /** Address that gets spans by OTLP/HTTP, such as `http://127.0.0.1:4318/v1/traces`; without it there are no traces. */
      endpoint: z.url({ protocol: /^https?$/, error: 'must be an http or https URL' }).optional(),
      /** Headers of these requests; give their values as `{ "env": "NAME" }`. */
      headers: z.record(z.string().regex(/^[A-Za-z0-9-]+$/, 'must be the name of a header'), z.string()).default({}),
      /** Share of the messages with a trace, from 0 to 1; several gateways choose the same ones. */
      sampling: z.number().min(0).max(1).default(1),
      /** `service.name` of the spans. */
      service_name: z.string().min(1).max(64).default('postern'),
    })
    .prefault({}),
  log: z
    .strictObject({
      /** The least level in the log. */
      level: z.enum(['debug', 'info', 'warn', 'error', 'silent']).default('info'),
    })
    .prefault({}),
}

export const ownSchema = z.strictObject(ownShape)

/** A configuration file without its channels, before defaults. */
export type OwnSettings = z.input<typeof ownSchema>
