// Explains why a socket cannot be opened, as a fault of the configuration.
import { ConfigError } from '@postern/message'

interface ListenFailure extends NodeJS.ErrnoException {
  readonly address?: string
  readonly hostname?: string
  readonly port?: number
}

/** Turns the reason why a socket did not open into a fault of the configuration. Returns other errors as they are. */
export function toListenError(key: string, cause: ListenFailure): Error {
  const { code, address, hostname = address, port } = cause
  if (code === undefined || hostname === undefined) return cause
  // The error of a Unix socket has no port, or a negative one.
  const isPort = port !== undefined && port >= 0
  const target = isPort ? `${hostname}:${port}` : hostname
  const name = hostname.startsWith('/') ? 'path' : 'port'
  const variable = `POSTERN_${key.replaceAll('.', '_').toUpperCase()}_${name.toUpperCase()}`
  const fix = `Free the ${name}, or set ${key}.${name} (${variable}) to another one.`
  return new ConfigError(key, `cannot listen on ${target} (${code})`, fix, { cause })
}
