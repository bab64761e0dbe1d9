// Describes the settings that checks read.
import type { a2aConfigSchema } from '@postern/a2a'
import type { emailConfigSchema } from '@postern/email'
import type { webConfigSchema } from '@postern/web'
import type { z } from 'zod'

/** The part of a gateway's configuration that checks read. */
export interface DoctorConfig {
  readonly origin: string
  readonly listen: { readonly host: string }
  /** `sqlite`, or the URL of a PostgreSQL database. */
  readonly store: string
  readonly roles: readonly ('ingress' | 'worker')[]
  readonly operator_token?: string | undefined
  readonly dev: boolean
  readonly default_agent?: string | undefined
  readonly agents: Readonly<Record<string, Readonly<Record<string, unknown>>>>
  readonly identity: { readonly trusted_issuers: readonly { readonly issuer: string }[] }
  readonly a2a: z.output<typeof a2aConfigSchema>
  readonly email: z.output<typeof emailConfigSchema>
  readonly web: z.output<typeof webConfigSchema>
}
