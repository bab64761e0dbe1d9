// Converts the address of a server into the configuration of the client library `pg`.
import type { ConnectionOptions } from 'node:tls'
import type { ClientConfig } from 'pg'

/** The values of `sslmode`, with the same meaning as in libpq. */
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
  // This mode accepts any server with a certificate of the authority `ca`.
  'verify-ca': { checkServerIdentity: () => undefined },
  'verify-full': {},
}

/** The timeouts that detect a server that does not answer. */
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
