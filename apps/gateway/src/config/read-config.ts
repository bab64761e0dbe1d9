// Reads the configuration file, and reports each fault with its key and its fix.
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { dirname, extname, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describeLoadFault, importOperatorModule } from '@postern/agents'
import { ConfigError, parseJsonText } from '@postern/message'
import type { z } from 'zod'
import { readAt } from '../tree/config-tree.ts'
import { applyEnvironment } from './environment.ts'
import { listKnownKeys } from './known-keys.ts'
import { findMissingSettings } from './production.ts'
import type { Config } from './schema.ts'
import { configSchema } from './schema.ts'
import type { MissingSetting } from './secrets.ts'
import { resolveSecrets } from './secrets.ts'
import { suggestName } from './suggest-name.ts'

interface ConfigSource {
  /** The value of `--config`. Absent for `POSTERN_CONFIG`, or else `postern.config.*` in the working directory. */
  readonly path?: string | undefined
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly workingDir: string
  /** The configuration itself, used instead of a file. */
  readonly settings?: object | undefined
}

/** The file before defaults. Dev mode fills in only what is absent here. */
export interface ConfigFile {
  readonly tree: Record<string, unknown>
  /** The values that the file takes from missing variables and files; `tree` does not contain them. */
  readonly missingSettings: readonly MissingSetting[]
  /** Paths of values that came from variables and files, which no output shows. */
  readonly references?: readonly (readonly string[])[] | undefined
  /** The folder that relative paths in the file start from. */
  readonly baseDir: string
  readonly path: string | undefined
}

const fileNames = ['postern.config.ts', 'postern.config.js', 'postern.config.json']

/** Reads the configuration file and resolves its references to variables and files. @throws ConfigError */
export async function readConfigFile({ path, environment, workingDir, settings }: ConfigSource): Promise<ConfigFile> {
  const requestedPath = path ?? environment.POSTERN_CONFIG
  const candidates = (requestedPath ? [requestedPath] : fileNames).map(name => resolve(workingDir, name))
  const file = settings ? undefined : candidates.find(existsSync)
  if (requestedPath && !file && !settings)
    throw new ConfigError('--config', `there is no file "${requestedPath}"`, 'Correct the path.')
  const baseDir = file ? dirname(file) : workingDir
  const loadedSettings = settings ?? (file ? await loadFile(file) : {})
  if (typeof loadedSettings !== 'object' || loadedSettings === null || Array.isArray(loadedSettings)) {
    throw new ConfigError('configuration', 'is not an object', 'Export one object (default export in .ts and .js).')
  }
  const {
    value,
    missingSettings: missing,
    variables,
    referencePaths: references,
  } = resolveSecrets(loadedSettings, { baseDir, environment })
  const tree = applyEnvironment(value as Record<string, unknown>, environment, variables)
  // A `POSTERN_*` variable may give a value that a reference in the file lacks.
  const unresolvedSettings = missing.filter(({ path }) => readAt(tree, path) === undefined)
  return { tree, missingSettings: unresolvedSettings, references, baseDir, path: file }
}

async function loadFile(path: string): Promise<unknown> {
  try {
    if (extname(path) === '.json') return parseJsonWithComments(await readFileText(path))
    return ((await importOperatorModule(pathToFileURL(path).href)) as { default?: unknown }).default
  } catch (cause) {
    const { problem, fix = `Correct ${path}.` } = describeLoadFault(cause, dirname(path))
    throw new ConfigError('configuration', `the file cannot be read: ${problem}`, fix, { cause })
  }
}

/** Reads a file without the byte order mark that editors on Windows put first. */
async function readFileText(path: string): Promise<string> {
  return (await readFile(path, 'utf8')).replace(/^\uFEFF/, '')
}

function parseJsonWithComments(text: string): unknown {
  try {
    return parseJsonText(text)
  } catch {
    return parseJsonText(blankComments(text))
  }
}

/** Turns comments into white space, so that errors still name the right line and column. */
function blankComments(text: string): string {
  return text.replace(/"(?:\\.|[^"\\])*"|\/\/[^\n]*|\/\*[\s\S]*?\*\//g, match =>
    match.startsWith('"') ? match : match.replace(/[^\n]/g, ' '),
  )
}

/** The number of agents from which a compiled parser saves more time than its compilation takes. */
const manyAgents = 1_000

/** Returns options of the schema library. Most configurations are parsed faster without a compiled parser. */
function chooseParser(tree: unknown): { readonly jitless: boolean } {
  const { agents } = Object(tree) as { readonly agents?: unknown }
  return { jitless: Object.keys(Object(agents)).length < manyAgents }
}

/** Parses a configuration with its schema. @throws AggregateError of ConfigErrors, one for each fault */
export function parseConfig(tree: unknown, schema: z.ZodType<Config> = configSchema): Config {
  const result = schema.safeParse(tree, chooseParser(tree))
  if (result.success) return result.data
  throw createConfigFaults(toConfigErrors(result.error, tree))
}

/** Parses like `parseConfig`, and reports every other fault that can be found at once. @throws AggregateError of ConfigErrors, one for each key */
export function parseConfigFile(
  { tree, missingSettings: missing }: ConfigFile,
  findOtherFaults: (config: Config) => readonly ConfigError[],
): Config {
  const result = configSchema.safeParse(tree, chooseParser(tree))
  const errors = result.success
    ? findOtherFaults(result.data)
    : [...toConfigErrors(result.error, tree), ...findMissingSettings(tree)]
  const missingErrors = missing.map(({ error }) => error)
  const faults = [...missingErrors, ...errors.filter(({ key }) => !missingErrors.some(error => error.key === key))]
  if (result.success && faults.length === 0) return result.data
  throw createConfigFaults(faults)
}

export function createConfigFaults(faults: readonly ConfigError[]): AggregateError {
  return new AggregateError(faults, 'The configuration has faults')
}

type Issue = z.core.$ZodIssue

/** The fix for each kind of fault. For a custom fault, the schema itself has the fix. */
const fixesByCode: {
  readonly [Code in Issue['code']]?: (issue: Extract<Issue, { code: Code }>) => string | undefined
} = {
  custom: ({ params }) => (params as { readonly fix?: string } | undefined)?.fix,
  invalid_type: ({ expected }) => `Give a value of type ${expected}.`,
  invalid_value: ({ values }) => `Use one of ${values.map(value => JSON.stringify(value)).join(', ')}.`,
  too_small: () => 'Make it larger or longer.',
  too_big: () => 'Make it smaller or shorter.',
}

/** Converts the issues of zod to errors that name the key and the fix. */
function toConfigErrors(error: z.ZodError, tree: unknown): readonly ConfigError[] {
  return error.issues.flatMap(findNearestIssues).flatMap(issue => {
    const path = issue.path.map(String).join('.')
    const findFix = fixesByCode[issue.code] as ((issue: Issue) => string | undefined) | undefined
    const fix = findFix?.(issue) ?? 'Correct it; docs/reference/configuration.md lists every key.'
    if (issue.code !== 'unrecognized_keys') return [new ConfigError(path || 'configuration', describeIssue(issue), fix)]
    const validKeys = listKnownKeys(issue.path, tree)
    return issue.keys.map(key => {
      const suggestion = suggestName(key, validKeys)
      const correction =
        suggestion === undefined ? 'Remove it, or correct its spelling.' : `Did you mean "${suggestion}"?`
      return new ConfigError(path ? `${path}.${key}` : key, 'is not a known key', correction)
    })
  })
}

/** Returns the faults of the alternative that a value nearly matches, or else the fault that it matches no alternative. */
function findNearestIssues(issue: Issue): readonly Issue[] {
  if (issue.code !== 'invalid_union') return [issue]
  const forms = issue.errors
    .map(faults => faults.flatMap(findNearestIssues))
    .map(faults => ({ faults, count: faults.reduce((sum, fault) => sum + countFaults(fault), 0) }))
    .toSorted((left, right) => left.count - right.count)
  const [nearestForm, nextForm] = forms
  if (!nearestForm || nearestForm.count === nextForm?.count) return [issue]
  return nearestForm.faults.map(fault => ({ ...fault, path: [...issue.path, ...fault.path] }))
}

function countFaults(issue: Issue): number {
  return issue.code === 'unrecognized_keys' ? issue.keys.length : 1
}

function describeIssue({ code, message }: Issue): string {
  if (code === 'invalid_type' && message.endsWith('received undefined')) return 'is missing'
  if (code === 'invalid_union' && message === 'Invalid input') return 'has none of the allowed forms'
  return message.charAt(0).toLowerCase() + message.slice(1)
}
