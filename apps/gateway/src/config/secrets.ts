import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { ConfigError } from '@postern/core'

export interface SecretSources {
  readonly baseDir: string
  readonly environment: Readonly<Record<string, string | undefined>>
}

/** Any value may be `{ "env": "NAME" }` or `{ "file": "path" }` instead of standing in the file itself. @throws ConfigError */
export function resolveSecrets(value: unknown, sources: SecretSources, path = ''): unknown {
  if (Array.isArray(value)) return value.map((item, index) => resolveSecrets(item, sources, `${path}[${index}]`))
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value)
  const [only] = entries
  if (entries.length === 1 && only && typeof only[1] === 'string') {
    const read = readers[only[0]]
    if (read) return read(only[1], sources, path)
  }
  return Object.fromEntries(
    entries.map(([key, child]) => [key, resolveSecrets(child, sources, path ? `${path}.${key}` : key)]),
  )
}

const readers: Record<string, (name: string, sources: SecretSources, path: string) => string> = {
  env(name, { environment }, path) {
    const text = environment[name]
    if (text === undefined) throw new ConfigError(path, `the environment variable ${name} is not set`, `Set ${name}.`)
    return text
  },
  file(name, { baseDir }, path) {
    try {
      return readFileSync(resolve(baseDir, name), 'utf8').trim()
    } catch (cause) {
      throw new ConfigError(path, `the file "${name}" cannot be read`, 'Create it, or correct its path.', { cause })
    }
  },
}
