// Turns the settings of a server into those of the client library.
import type { ConnectionOptions } from 'node:tls'
import type { ClientConfig } from 'pg'

/** The values of `sslmode`, in libpq's meaning. */
export const tlsModes = ['disable', 'require', 'verify-ca', 'verify-full'] as const

/** Certificates and keys as PEM texts. */
export interface TlsSettings {
  readonly mode: (typeof tlsModes)[number]
  readonly ca?: string
  readonly cert?: string
  readonly key?: string
}

/** The address of a server and the credentials for it. */
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

const tlsChecks: Readonly<Record<TlsSettings['mode'], ConnectionOptions | false>> = {
  disable: false,
  require: { rejectUnauthorized: false },
  // This mode accepts any server with a certificate of that authority.
  'verify-ca': { checkServerIdentity: () => undefined },
  'verify-full': {},
}

/** Limits that detect a silent server. */
const timeouts = { connectionTimeoutMillis: 5_000, keepAlive: true, keepAliveInitialDelayMillis: 10_000 } as const

export function toClientConfig({ tls: { mode, ...files }, user, password, ...target }: ServerAddress): ClientConfig {
  const check = tlsChecks[mode]
  const ssl = check && { ...files, ...check }
  return {
    ...target,
    ssl,
    ...timeouts,
    ...(user !== undefined && { user }),
    ...(password !== undefined && { password }),
  }
}
