import { a2aConfigSchema } from '@postern/a2a'
import { activityPubConfigSchema } from '@postern/activitypub'
import { agentConfigSchema } from '@postern/agents'
import { toAsciiDomain } from '@postern/core'
import { emailConfigSchema } from '@postern/email'
import { identityConfigSchema } from '@postern/identity'
import { paymentsConfigSchema, requirementsConfigSchema } from '@postern/requirements'
import { webConfigSchema } from '@postern/web'
import { z } from 'zod'
import { loopConfigSchema } from './loops.ts'

const originSchema = z
  .string()
  .transform(text => text.replace(/\/$/, ''))
  .refine(isOrigin, 'must be an https origin with a two-label host and no path, such as "https://agents.example"')

function isOrigin(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { origin, protocol, hostname } = new URL(text)
  return origin === text && protocol === 'https:' && toAsciiDomain(hostname) !== undefined
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
  /** Requests of one network address per minute, counted before anything is read. */
  per_address: perMinute.optional(),
  /** Messages of one sending host per minute. */
  per_host: perMinute.optional(),
  /** Messages of one sender per minute. */
  per_identity: perMinute.optional(),
  /** The same of a sender who proves nothing, and of all those of one network address together; default: `per_identity`, and no limit together. */
  per_unverified: perMinute.optional(),
  /** Messages to one agent per minute; half of them from senders who prove nothing. */
  per_agent: perMinute.optional(),
  /** Bytes of all bodies of requests and mails that are read and judged at a time; of one network address half of it. */
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

const networkConfigSchema = z.strictObject({
  dns: z.array(z.string().regex(/^(\d+\.\d+\.\d+\.\d+|\[[0-9a-f:]+\])(:\d+)?$/i, 'must be "address:port"')).optional(),
  allow_private: z
    .array(
      z
        .string()
        .refine(
          text => URL.canParse(text) && new URL(text).origin === text,
          'must be an origin such as "http://10.0.0.5:8080"',
        ),
    )
    .default([]),
  loopback: z.record(z.string(), z.int().min(1).max(65_535)).default({}),
  /** Addresses and networks of reverse proxies whose `X-Forwarded-For` is believed; default: this machine's where `listen` is loopback. */
  trusted_proxies: z.array(z.union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()])).optional(),
})

/** The whole configuration file. */
export const configSchema = z.strictObject({
  origin: originSchema,
  /** The domain of every `@agent@domain`, when it is another than the origin's host: its WebFinger has to redirect to the origin. */
  handle_host: handleHostSchema.optional(),
  listen: z
    .strictObject({ host: z.string().default('127.0.0.1'), port: z.int().min(0).max(65_535).default(8787) })
    .prefault({}),
  data: z.string().default('.postern'),
  store: z.string().default('sqlite'),
  operator_token: z.string().min(1, 'must not be empty').optional(),
  dev: z.boolean().default(false),
  default_agent: z.string().optional(),
  agents: z
    .record(z.string(), agentConfigSchema)
    .refine(agents => Object.keys(agents).length > 0, 'needs at least one agent'),
  activitypub: activityPubConfigSchema.prefault({}),
  a2a: a2aConfigSchema.prefault({}),
  email: emailConfigSchema.prefault({}),
  web: webConfigSchema,
  identity: identityConfigSchema.prefault({}),
  requirements: requirementsConfigSchema.prefault({}),
  payments: paymentsConfigSchema.optional(),
  network: networkConfigSchema.prefault({}),
  limits: limitsConfigSchema.prefault({}),
  delivery: z
    .strictObject({
      /** Seconds before the second try; doubles with each further one. */
      retry_after: z.number().positive().default(15),
      give_up_after_hours: z.number().positive().default(48),
    })
    .prefault({}),
  log: z.strictObject({ level: z.enum(['debug', 'info', 'warn', 'error', 'silent']).default('info') }).prefault({}),
})

export type Config = z.output<typeof configSchema>
