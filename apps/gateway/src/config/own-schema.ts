import { agentConfigSchema } from '@postern/agents'
import { toAsciiDomain } from '@postern/core'
import { identityConfigSchema } from '@postern/identity'
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

const perMinute = z.int().positive()

export const limitsConfigSchema = z.strictObject({
  /** Requests of one network address per minute; the count precedes everything else. */
  per_address: perMinute.optional(),
  /** Messages of one sending host per minute. */
  per_host: perMinute.optional(),
  /** Messages of one sender per minute. */
  per_identity: perMinute.optional(),
  /** Messages per minute of one sender who proves nothing, and of all of them at one network address together. */
  per_unverified: perMinute.optional(),
  /** Messages to one agent per minute; half of them from senders who prove nothing. */
  per_agent: perMinute.optional(),
  /** Bytes of all bodies of requests and mails at a time; one network address may take half of it. */
  held_bytes: z
    .int()
    .positive()
    .default(64 * 1024 * 1024),
  /** What ends conversations of agents with each other. */
  loop: loopConfigSchema.prefault({}),
})

/** Applied outside of dev mode where the file says nothing. */
export const productionLimits = {
  per_address: 600,
  per_host: 600,
  per_identity: 120,
  per_unverified: 30,
  per_agent: 3_000,
} as const

/** A role of a gateway among several at one database. */
type GatewayRole = (typeof gatewayRoles)[number]

const gatewayRoles = ['ingress', 'worker'] as const

/** Whether a gateway of this configuration has a role. */
export function hasRole({ roles }: { readonly roles: readonly GatewayRole[] }, role: GatewayRole): boolean {
  return roles.includes(role)
}

const networkConfigSchema = z.strictObject({
  /** Resolvers for SPF, DKIM, DMARC and MX; default: the system's, in dev mode the simulation's. */
  dns: z.array(z.string().regex(/^(\d+\.\d+\.\d+\.\d+|\[[0-9a-f:]+\])(:\d+)?$/i, 'must be "address:port"')).optional(),
  /** Exact origins at private addresses that the outgoing guard lets through. */
  allow_private: z
    .array(
      z.string().refine(text => URL.parse(text)?.origin === text, 'must be an origin such as "http://10.0.0.5:8080"'),
    )
    .default([]),
  /** Dev mode only: `{ "mastodon.test": 9001 }` sends `https://mastodon.test/…` as plain HTTP to that port of this machine. */
  loopback: z.record(z.string(), z.int().min(1).max(65_535)).default({}),
  /** Addresses and networks of reverse proxies whose `X-Forwarded-For` counts; default: this machine's where `listen` is loopback. */
  trusted_proxies: z.array(z.union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()])).optional(),
})

/** The configuration file, but for its channels. */
export const ownShape = {
  /** Where the JSON Schema of this file is, for editors; the gateway does not read it. */
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
  /** What this gateway does where several share PostgreSQL: `ingress` takes messages in, `worker` answers and delivers; default: both. */
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
  /** How the gateway knows that somebody has paid; without it no agent can require a payment. */
  payments: paymentsConfigSchema.optional(),
  network: networkConfigSchema.prefault({}),
  limits: limitsConfigSchema.prefault({}),
  delivery: z
    .strictObject({
      /** Seconds before the second try; doubles with each further one. */
      retry_after: z.number().positive().default(15),
      /** Hours of attempts, after which a delivery is a dead letter. */
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

/** What a configuration file may say beside its channels. */
export type OwnSettings = z.input<typeof ownSchema>
