// Explains why a socket cannot be opened, as a configuration error.
import { ConfigError } from '@postern/message'

interface ListenFailure extends NodeJS.ErrnoException {
  readonly address?: string
  readonly hostname?: string
  readonly port?: number
}

/** Converts the failure to open a socket to a configuration error. Returns other errors as they are. */
export function toListenError(configKey: string, cause: ListenFailure): Error {
  const { code, address, hostname = address, port } = cause
  if (code === undefined || hostname === undefined) return cause
  // The error of a Unix socket has no port, or a negative one.
  const hasPort = port !== undefined && port >= 0
  const target = hasPort ? `${hostname}:${port}` : hostname
  const settingName = hostname.startsWith('/') ? 'path' : 'port'
  const variable = `POSTERN_${configKey.replaceAll('.', '_').toUpperCase()}_${settingName.toUpperCase()}`
  const fix = `Free the ${settingName}, or set ${configKey}.${settingName} (${variable}) to another one.`
  return new ConfigError(configKey, `cannot listen on ${target} (${code})`, fix, { cause })
}
