import { effectiveConfig } from '../config/effective.ts'
import type { ConfigFile } from '../config/read-config.ts'
import type { Output } from './commands.ts'

const secretNames = /(^|_)(token|secret|password|key)$/

/** The configuration with every default filled in and every secret masked. */
export async function printConfig(file: ConfigFile, output: Output): Promise<void> {
  output.print(JSON.stringify(maskSecrets(effectiveConfig(file)), null, 2))
}

/** What stands between name and host of a URL. */
const urlPassword = /^([a-z+]+:\/\/[^/?#@:]*):[^/?#]*@/

export function maskSecrets(value: unknown): unknown {
  if (typeof value === 'string') return value.replace(urlPassword, '$1:(set)@')
  if (Array.isArray(value)) return value.map(maskSecrets)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, child]) => [
      name,
      secretNames.test(name) && typeof child === 'string' ? '(set)' : maskSecrets(child),
    ]),
  )
}
