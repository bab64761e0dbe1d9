// Reads the URL of a PostgreSQL server.
import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { ConfigError } from '@postern/message'
import type { ServerAddress, TlsSettings } from './address.ts'
import { isTlsMode, tlsModes } from './address.ts'

export interface PostgresSettings {
  readonly server: ServerAddress
  /** The schema of the database that contains all tables. */
  readonly schema: string
  /** Host, port and database, without credentials, so that operators may see it. */
  readonly location: string
}

const fileKeys = { sslrootcert: 'ca', sslcert: 'cert', sslkey: 'key' } as const

const fix = 'Use postgres://user:password@host:5432/database, or postgres:///database?host=/folder/of/the/socket.'
const parameterNames: ReadonlySet<string> = new Set([
  'host',
  'port',
  'user',
  'schema',
  'sslmode',
  ...Object.keys(fileKeys),
])

export function isPostgresUrl(text: string): boolean {
  return /^postgres(ql)?:/.test(text)
}

/** Reads the settings in a URL. Only the password may come from the environment (`PGPASSWORD`). @throws ConfigError `store`, without the password */
export function readPostgresUrl(text: string): PostgresSettings {
  const url = parseUrl(text)
  const { searchParams } = url
  const unknownParameter = [...searchParams.keys()].find(name => !parameterNames.has(name))
  if (unknownParameter !== undefined)
    throw new ConfigError(
      'store',
      `has the parameter "${unknownParameter}"`,
      `Known are ${formatList(parameterNames)}.`,
    )
  const host = searchParams.get('host') ?? decodeURIComponent(url.hostname).replace(/^\[(.*)\]$/, '$1')
  const port = Number(searchParams.get('port') ?? (url.port || 5432))
  const database = decodeURIComponent(url.pathname.slice(1))
  const schema = searchParams.get('schema') ?? 'postern'
  if (host === '' || database === '') throw new ConfigError('store', 'names no host or no database', fix)
  if (!/^[a-z_][a-z0-9_]{0,40}$/.test(schema))
    throw new ConfigError('store', 'has no usable "schema"', 'Use a-z, 0-9 and _.')
  const user = searchParams.get('user') ?? decodeURIComponent(url.username)
  const password = decodeURIComponent(url.password)
  const tls = readTls(searchParams)
  return {
    schema,
    location: `"${database}" at ${isIP(host) === 6 ? `[${host}]` : host}:${port}`,
    server: { host, port, database, tls, user: user || undefined, password: password || undefined },
  }
}

function parseUrl(text: string): URL {
  try {
    return new URL(text)
  } catch {
    // The password may be the wrong part, so the error quotes nothing of the URL.
    throw new ConfigError('store', 'is no URL', `${fix} Write what is special in a password as %XX.`)
  }
}

function readTls(parameters: URLSearchParams): TlsSettings {
  const mode = parameters.get('sslmode') ?? 'disable'
  if (!isTlsMode(mode))
    throw new ConfigError('store', `has an unknown sslmode "${mode}"`, `Use ${formatList(tlsModes)}.`)
  const files = Object.entries(fileKeys).flatMap(([name, member]) => {
    const path = parameters.get(name)
    return path === null ? [] : [[member, readPem(name, path)] as const]
  })
  return { mode, ...Object.fromEntries(files) }
}

function readPem(name: string, path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (cause) {
    throw new ConfigError('store', `cannot read "${path}" (${name})`, 'Name a PEM file.', { cause })
  }
}

function formatList(names: Iterable<string>): string {
  return [...names].join(', ')
}
