import { hash } from 'node:crypto'
import type { Json } from '@postern/core'
import { isJsonObject } from '@postern/core'
import type { ListedSetting } from '../commands/status/listed-setting.ts'
import { listVariables } from '../config/environment.ts'
import { configSchema } from '../config/schema.ts'
import { maskSecrets } from './config-print.ts'

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
    const isSame = digest(defaults.get(key)) === digest(raw.get(key))
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

function digest(value: unknown): string {
  return hash('sha256', JSON.stringify(value) ?? '')
}
