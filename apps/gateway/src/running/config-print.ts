import type { Output } from '../commands/context.ts'
import type { ConfigFile } from '../config/read-config.ts'
import { effectiveConfig } from '../dev/effective.ts'

const secretNames = /(^|[_-])(token|secret|password|key|authorization|cookie)s?$/i

/** The configuration with every default filled in and every secret masked. */
export async function printConfig(file: ConfigFile, output: Output): Promise<void> {
  output.print(JSON.stringify(maskSecrets(effectiveConfig(file)), null, 2))
}

const databasePassword = /^(postgres(?:ql)?:\/\/[^:@/?#]*):[^?#]*@/
const userInfo = /^((?!postgres)[a-z][a-z0-9+.-]*:\/\/)[^/?#]*@/i
const secretParameter = /([?&][^=&#]*(?:pass|pwd|secret|token|key|sig|auth|credential)[^=&#]*=)[^&#]*/gi

export function maskSecrets(value: unknown): unknown {
  if (typeof value === 'string') return maskUrl(value)
  if (Array.isArray(value)) return value.map(maskSecrets)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, child]) => [name, maskMember(name, child)]))
}

function maskMember(name: string, child: unknown): unknown {
  // Names of headers do not tell which of them opens something.
  if (name === 'headers' && typeof child === 'object' && child !== null)
    return Object.fromEntries(Object.keys(child).map(header => [header, '(set)']))
  return secretNames.test(name) ? maskAll(child) : maskSecrets(child)
}

/** Who connects to a database is no secret; of other URLs a name alone may be one. */
function maskUrl(text: string): string {
  if (!/^[a-z][a-z0-9+.-]*:\/\//i.test(text)) return text
  return text.replace(databasePassword, '$1:(set)@').replace(userInfo, '$1(set)@').replace(secretParameter, '$1(set)')
}

/** What is named a secret, whether it is one text or a list of them. */
function maskAll(value: unknown): unknown {
  if (typeof value === 'string') return '(set)'
  return Array.isArray(value) ? value.map(maskAll) : maskSecrets(value)
}
