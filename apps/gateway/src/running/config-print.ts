import { isDeepStrictEqual } from 'node:util'
import type { Json } from '@postern/core'
import { isJsonObject } from '@postern/core'
import type { Output } from '../commands/context.ts'
import type { ListedSetting } from '../commands/status/route.ts'
import { listVariables } from '../config/environment.ts'
import type { ConfigFile } from '../config/read-config.ts'
import { configSchema } from '../config/schema.ts'
import { effectiveConfig } from '../dev/dev-configs.ts'

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

interface SettingSources {
  /** As the gateway runs with it. */
  readonly config: object
  /** As the file and the variables have it, before defaults. */
  readonly given: object
  readonly environment: Readonly<Record<string, string | undefined>>
}

/** Every value of the configuration with its source; what is neither given nor a default is dev mode's. */
export function listSettings({ config, given, environment }: SettingSources): readonly ListedSetting[] {
  const variables = new Set(
    [...listVariables()].filter(([name]) => environment[name] !== undefined).map(([, { path }]) => path.join('.')),
  )
  const inFile = new Map(flatten(given))
  const defaults = new Map(flatten(findDefaults(given)))
  const raw = new Map(flatten(config))
  return flatten(maskSecrets(config) as object).map(([key, value]) => {
    const isSame = isDeepStrictEqual(defaults.get(key), raw.get(key))
    const source = variables.has(key) ? 'environment' : inFile.has(key) ? 'file' : isSame ? 'default' : 'dev'
    return { key, value, source }
  })
}

/** What the same file would mean without dev mode's values. */
function findDefaults(given: object): object {
  const parsed = configSchema.safeParse({ origin: 'https://agents.example', agents: {}, ...given, dev: false })
  return parsed.success ? parsed.data : {}
}

/** Lists and values by their paths. */
function flatten(tree: object, path = ''): readonly (readonly [string, Json])[] {
  return Object.entries(tree).flatMap(([name, value]) => {
    const key = path === '' ? name : `${path}.${name}`
    if (value === undefined) return []
    return isJsonObject(value) && Object.keys(value).length > 0 ? flatten(value, key) : [[key, value as Json] as const]
  })
}
