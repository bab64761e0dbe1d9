import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { dirname, extname, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describeLoadFault, importOperatorModule } from '@postern/agents'
import { ConfigError, parseJsonText } from '@postern/core'
import type { z } from 'zod'
import { overlayEnvironment, readAt } from './environment.ts'
import { findMissingSettings } from './production.ts'
import type { Config } from './schema.ts'
import { configSchema } from './schema.ts'
import type { MissingSetting } from './secrets.ts'
import { resolveSecrets } from './secrets.ts'

interface ConfigSource {
  /** `--config`; else `POSTERN_CONFIG`, else `postern.config.*` in the working directory. */
  readonly path?: string | undefined
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly workingDir: string
  /** The configuration itself; then no file is read. */
  readonly settings?: object | undefined
}

/** The file as it stands, before defaults: dev mode fills only what is absent here. */
export interface ConfigFile {
  readonly tree: Record<string, unknown>
  /** What the file leaves to variables and files that are not there; `tree` is without it. */
  readonly missing: readonly MissingSetting[]
  /** Relative paths in the file start here. */
  readonly baseDir: string
  readonly path: string | undefined
}

const fileNames = ['postern.config.ts', 'postern.config.js', 'postern.config.json']

/** @throws ConfigError */
export async function readConfigFile({ path, environment, workingDir, settings }: ConfigSource): Promise<ConfigFile> {
  const named = path ?? environment.POSTERN_CONFIG
  const candidates = (named ? [named] : fileNames).map(name => resolve(workingDir, name))
  const found = settings ? undefined : candidates.find(existsSync)
  if (named && !found && !settings)
    throw new ConfigError('--config', `there is no file "${named}"`, 'Correct the path.')
  const baseDir = found ? dirname(found) : workingDir
  const loaded = settings ?? (found ? await loadFile(found) : {})
  if (typeof loaded !== 'object' || loaded === null || Array.isArray(loaded)) {
    throw new ConfigError('configuration', 'is not an object', 'Export one object (default export in .ts and .js).')
  }
  const { value, missing, variables } = resolveSecrets(loaded, { baseDir, environment })
  const tree = overlayEnvironment(value as Record<string, unknown>, environment, variables)
  // A `POSTERN_*` variable may give what the file's own reference does not.
  const unset = missing.filter(({ path }) => readAt(tree, path) === undefined)
  return { tree, missing: unset, baseDir, path: found }
}

async function loadFile(path: string): Promise<unknown> {
  try {
    if (extname(path) === '.json') return parseJsonText(blankComments(await readText(path)))
    return ((await importOperatorModule(pathToFileURL(path).href)) as { default?: unknown }).default
  } catch (cause) {
    const { problem, fix = `Correct ${path}.` } = describeLoadFault(cause, dirname(path))
    throw new ConfigError('configuration', `the file cannot be read: ${problem}`, fix, { cause })
  }
}

/** Without the byte order mark that editors on Windows put first. */
async function readText(path: string): Promise<string> {
  return (await readFile(path, 'utf8')).replace(/^\uFEFF/, '')
}

/** `//` and block comments become white space, so that a fault is still named by its line and column. */
function blankComments(text: string): string {
  return text.replace(/"(?:\\.|[^"\\])*"|\/\/[^\n]*|\/\*[\s\S]*?\*\//g, found =>
    found.startsWith('"') ? found : found.replace(/[^\n]/g, ' '),
  )
}

/** A configuration is read once: to compile code for that takes longer than the reading. */
const once = { jitless: true } as const

/** @throws AggregateError of ConfigErrors, one for each fault */
export function parseConfig(tree: unknown, schema: z.ZodType<Config> = configSchema): Config {
  const parsed = schema.safeParse(tree, once)
  if (parsed.success) return parsed.data
  throw createConfigFaults(toConfigErrors(parsed.error))
}

/** Like `parseConfig`, with every other fault that can be told at once. @throws AggregateError of ConfigErrors, one for each key */
export function parseConfigFile(
  { tree, missing }: ConfigFile,
  findMore: (config: Config) => readonly ConfigError[],
): Config {
  const parsed = configSchema.safeParse(tree, once)
  const found = parsed.success ? findMore(parsed.data) : [...toConfigErrors(parsed.error), ...findMissingSettings(tree)]
  const unset = missing.map(({ error }) => error)
  const faults = [...unset, ...found.filter(({ key }) => !unset.some(error => error.key === key))]
  if (parsed.success && faults.length === 0) return parsed.data
  throw createConfigFaults(faults)
}

export function createConfigFaults(faults: readonly ConfigError[]): AggregateError {
  return new AggregateError(faults, 'The configuration has faults')
}

type Issue = z.core.$ZodIssue

/** What to do about each kind of fault; the schema's own sentence where it has one. */
const fixes: { readonly [Code in Issue['code']]?: (issue: Extract<Issue, { code: Code }>) => string | undefined } = {
  custom: ({ params }) => (params as { readonly fix?: string } | undefined)?.fix,
  unrecognized_keys: () => 'Remove it, or correct its spelling.',
  invalid_type: ({ expected }) => `Give a value of type ${expected}.`,
  invalid_value: ({ values }) => `Use one of ${values.map(value => JSON.stringify(value)).join(', ')}.`,
  too_small: () => 'Make it larger or longer.',
  too_big: () => 'Make it smaller or shorter.',
}

/** Turns what zod found into errors that name the key and the fix. */
function toConfigErrors(error: z.ZodError): readonly ConfigError[] {
  return error.issues.flatMap(findNearest).flatMap(issue => {
    const path = issue.path.map(String).join('.')
    const findFix = fixes[issue.code] as ((issue: Issue) => string | undefined) | undefined
    const fix = findFix?.(issue) ?? 'Correct it; docs/reference/configuration.md lists every key.'
    if (issue.code !== 'unrecognized_keys') return [new ConfigError(path || 'configuration', describe(issue), fix)]
    return issue.keys.map(key => new ConfigError(path ? `${path}.${key}` : key, 'is not a known key', fix))
  })
}

/** What keeps a value from the one form that it nearly has; else that it has none of them. */
function findNearest(issue: Issue): readonly Issue[] {
  if (issue.code !== 'invalid_union') return [issue]
  const forms = issue.errors
    .map(faults => faults.flatMap(findNearest))
    .map(faults => ({ faults, count: faults.reduce((sum, fault) => sum + countFaults(fault), 0) }))
    .toSorted((a, b) => a.count - b.count)
  const [nearest, next] = forms
  if (!nearest || nearest.count === next?.count) return [issue]
  return nearest.faults.map(fault => ({ ...fault, path: [...issue.path, ...fault.path] }))
}

function countFaults(issue: Issue): number {
  return issue.code === 'unrecognized_keys' ? issue.keys.length : 1
}

function describe({ code, message }: Issue): string {
  if (code === 'invalid_type' && message.endsWith('received undefined')) return 'is missing'
  if (code === 'invalid_union' && message === 'Invalid input') return 'has none of the forms that it may have'
  return message.charAt(0).toLowerCase() + message.slice(1)
}
