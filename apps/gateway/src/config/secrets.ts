import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { ConfigError } from '@postern/core'

interface SecretSources {
  readonly baseDir: string
  readonly environment: Readonly<Record<string, string | undefined>>
}

/** A value that the configuration leaves to a variable or file which is not there. */
export interface MissingSetting {
  /** Where the value belongs: `['agents', 'py', 'secret']`. */
  readonly path: readonly string[]
  /** The variable or file that was looked for. */
  readonly source: string
  readonly error: ConfigError
}

interface Collected {
  readonly missing: MissingSetting[]
  /** Variables that a value was left to, whether they are set or not. */
  readonly variables: Set<string>
}

interface ResolvedSettings extends Readonly<Collected> {
  /** The same value without what is missing. */
  readonly value: unknown
}

/** Deeper is no configuration, but a mistake that would end the stack. */
const maxDepth = 64

/** Any value may be `{ "env": "NAME" }` or `{ "file": "path" }` instead of standing in the file itself. @throws ConfigError */
export function resolveSecrets(value: unknown, sources: SecretSources): ResolvedSettings {
  const collected: Collected = { missing: [], variables: new Set() }
  return { value: resolveAt(value, [], sources, collected), ...collected }
}

function resolveAt(value: unknown, path: readonly string[], sources: SecretSources, collected: Collected): unknown {
  if (path.length > maxDepth)
    throw new ConfigError(path.slice(0, 3).join('.'), `is nested deeper than ${maxDepth} levels`, 'Correct it.')
  if (Array.isArray(value))
    return value.map((item, index) => resolveAt(item, [...path, String(index)], sources, collected))
  if (typeof value !== 'object' || value === null) return value
  const reference = findReference(value)
  if (!reference) {
    const entries = Object.entries(value).map(([key, child]) => [
      key,
      resolveAt(child, [...path, key], sources, collected),
    ])
    return Object.fromEntries(entries.filter(([, child]) => child !== undefined))
  }
  const found = reference.read(sources)
  if (reference.variable !== undefined) collected.variables.add(reference.variable)
  if (found === undefined) collected.missing.push(describeMissing(path, reference))
  return found
}

interface Reference {
  readonly source: string
  /** If it is one. */
  readonly variable?: string
  readonly problem: string
  readonly fix: string
  read(sources: SecretSources): string | undefined
}

function findReference(value: object): Reference | undefined {
  const [only, ...others] = Object.entries(value)
  if (!only || others.length > 0 || typeof only[1] !== 'string') return undefined
  return Object.hasOwn(references, only[0]) ? references[only[0]]?.(only[1]) : undefined
}

const references: Readonly<Record<string, (name: string) => Reference>> = {
  env: name => ({
    source: name,
    variable: name,
    problem: `the environment variable ${name} is not set`,
    fix: `Set ${name}.`,
    read: ({ environment }) => (Object.hasOwn(environment, name) ? environment[name] : undefined),
  }),
  file: name => ({
    source: name,
    problem: `the file "${name}" cannot be read`,
    fix: 'Create it, or correct its path.',
    read: ({ baseDir }) => readText(resolve(baseDir, name)),
  }),
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch {
    return undefined
  }
}

function describeMissing(path: readonly string[], { source, problem, fix }: Reference): MissingSetting {
  return { path, source, error: new ConfigError(path.join('.'), problem, fix) }
}
