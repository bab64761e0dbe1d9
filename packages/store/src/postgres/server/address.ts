import type { ConnectionOptions } from 'node:tls'
import type { ClientConfig } from 'pg'

/** `sslmode`, as libpq means it. */
export const tlsModes = ['disable', 'require', 'verify-ca', 'verify-full'] as const

/** PEM texts. */
export interface TlsSettings {
  readonly mode: (typeof tlsModes)[number]
  readonly ca?: string
  readonly cert?: string
  readonly key?: string
}

/** How a server is reached. */
export interface ServerAddress {
  readonly host: string
  readonly port: number
  readonly database: string
  readonly user: string | undefined
  readonly password: string | undefined
  readonly tls: TlsSettings
}

export function isTlsMode(mode: string): mode is TlsSettings['mode'] {
  return (tlsModes as readonly string[]).includes(mode)
}

const checks: Readonly<Record<TlsSettings['mode'], ConnectionOptions | false>> = {
  disable: false,
  require: { rejectUnauthorized: false },
  // Whoever has a certificate of that authority.
  'verify-ca': { checkServerIdentity: () => undefined },
  'verify-full': {},
}

/** A far side that is silent is gone. */
const waits = { connectionTimeoutMillis: 5_000, keepAlive: true, keepAliveInitialDelayMillis: 10_000 } as const

export function toClientConfig({ tls: { mode, ...files }, user, password, ...place }: ServerAddress): ClientConfig {
  const check = checks[mode]
  const ssl = check && { ...files, ...check }
  return { ...place, ssl, ...waits, ...(user !== undefined && { user }), ...(password !== undefined && { password }) }
}
