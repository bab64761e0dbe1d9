// Resolves references of the configuration to environment variables and files.
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { ConfigError } from '@postern/message'
import type { ConfigTree } from '../tree/config-tree.ts'
import { mapChildren } from '../tree/config-tree.ts'

interface SecretSources {
  readonly baseDir: string
  readonly environment: Readonly<Record<string, string | undefined>>
}

/** A value that the configuration takes from a variable or file that does not exist. */
export interface MissingSetting {
  /** The key of the value: `['agents', 'py', 'secret']`. */
  readonly path: readonly string[]
  /** The variable or file that has no value. */
  readonly source: string
  /** The reason for the missing value, as a sentence without its full stop. */
  readonly problem: string
  readonly error: ConfigError
}

interface CollectedSecrets {
  readonly missingSettings: MissingSetting[]
  /** The variables that the configuration refers to, whether or not they are set. */
  readonly variables: Set<string>
  /** The paths of the values that came from a variable or a file. */
  readonly referencePaths: (readonly string[])[]
}

interface ResolvedSettings extends Readonly<CollectedSecrets> {
  /** The configuration without the values that are missing. */
  readonly value: unknown
}

/** The maximum depth of a configuration. Deeper nesting is a mistake, and would exhaust the stack. */
const maxDepth = 64

/** Replaces each `{ "env": "NAME" }` and `{ "file": "path" }` with its value. @throws ConfigError */
export function resolveSecrets(value: unknown, sources: SecretSources): ResolvedSettings {
  const collectedSecrets: CollectedSecrets = { missingSettings: [], variables: new Set(), referencePaths: [] }
  return { value: resolveValue(value, { sources, collectedSecrets, path: [] }), ...collectedSecrets }
}

interface ResolveContext {
  /** The names on the way to the value. */
  readonly path: string[]
  readonly sources: SecretSources
  readonly collectedSecrets: CollectedSecrets
}

/** Returns a value without references. A value that has none stays the same object. */
function resolveValue(value: unknown, context: ResolveContext): unknown {
  const { path } = context
  if (path.length > maxDepth)
    throw new ConfigError(path.slice(0, 3).join('.'), `is nested deeper than ${maxDepth} levels`, 'Correct it.')
  if (typeof value !== 'object' || value === null) return value
  const reference = findReference(value)
  if (reference) return resolveReference(reference, context)
  return mapChildren(value, (child, name) => {
    path.push(name)
    const resolvedChild = resolveValue(child, context)
    path.pop()
    return resolvedChild
  })
}

/** Returns the value of a reference, and records the reference. */
function resolveReference(
  reference: Reference,
  { sources, collectedSecrets, path }: ResolveContext,
): string | undefined {
  const value = reference.read(sources)
  if (reference.variable !== undefined) collectedSecrets.variables.add(reference.variable)
  if (value === undefined) collectedSecrets.missingSettings.push(describeMissing([...path], reference))
  else collectedSecrets.referencePaths.push([...path])
  return value
}

interface Reference {
  readonly source: string
  /** The name of the variable; absent for a file. */
  readonly variable?: string
  readonly problem: string
  readonly fix: string
  read(sources: SecretSources): string | undefined
}

function findReference(value: object): Reference | undefined {
  const name = referenceNames.find(referenceName => Object.hasOwn(value, referenceName))
  if (name === undefined || Object.keys(value).length > 1) return undefined
  const text = (value as ConfigTree)[name]
  return typeof text === 'string' ? referenceReaders[name]?.(text) : undefined
}

const referenceReaders: Readonly<Record<string, (name: string) => Reference>> = {
  env: name => ({
    source: name,
    variable: name,
    problem: `the environment variable ${name} is not set`,
    fix: `Set ${name} in the environment, or in the file .env of the folder where you start Postern.`,
    read: ({ environment }) => (Object.hasOwn(environment, name) ? environment[name] : undefined),
  }),
  file: name => ({
    source: name,
    problem: `the file "${name}" cannot be read`,
    fix: 'Create it, or correct its path.',
    read: ({ baseDir }) => findFileText(resolve(baseDir, name)),
  }),
}

const referenceNames = Object.keys(referenceReaders)

function findFileText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch {
    return undefined
  }
}

function describeMissing(path: readonly string[], { source, problem, fix }: Reference): MissingSetting {
  return { path, source, problem, error: new ConfigError(path.join('.'), problem, fix) }
}
