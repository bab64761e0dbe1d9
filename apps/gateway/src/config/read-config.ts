import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { dirname, extname, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { ConfigError } from '@postern/core'
import { overlayEnvironment } from './environment.ts'
import { toConfigErrors } from './issues.ts'
import type { Config } from './schema.ts'
import { configSchema } from './schema.ts'
import { resolveSecrets } from './secrets.ts'

export interface ConfigSource {
  /** `--config`; else `POSTERN_CONFIG`, else `postern.config.*` in the working directory. */
  readonly path?: string | undefined
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly workingDir: string
}

/** The file as it stands, before defaults: dev mode fills only what is absent here. */
export interface ConfigFile {
  readonly tree: Record<string, unknown>
  /** Relative paths in the file start here. */
  readonly baseDir: string
  readonly path: string | undefined
}

const fileNames = ['postern.config.ts', 'postern.config.js', 'postern.config.json']

/** @throws ConfigError */
export async function readConfigFile({ path, environment, workingDir }: ConfigSource): Promise<ConfigFile> {
  const named = path ?? environment.POSTERN_CONFIG
  const candidates = (named ? [named] : fileNames).map(name => resolve(workingDir, name))
  const found = candidates.find(existsSync)
  if (named && !found) throw new ConfigError('--config', `there is no file "${named}"`, 'Correct the path.')
  const baseDir = found ? dirname(found) : workingDir
  const loaded = found ? await loadFile(found) : {}
  if (typeof loaded !== 'object' || loaded === null) {
    throw new ConfigError('configuration', 'is not an object', 'Export one object (default export in .ts and .js).')
  }
  const tree = overlayEnvironment(
    resolveSecrets(loaded, { baseDir, environment }) as Record<string, unknown>,
    environment,
  )
  return { tree, baseDir, path: found }
}

async function loadFile(path: string): Promise<unknown> {
  try {
    if (extname(path) === '.json') return JSON.parse(blankComments(await readFile(path, 'utf8')))
    return ((await import(pathToFileURL(path).href)) as { default?: unknown }).default
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new ConfigError('configuration', `the file cannot be read: ${reason}`, 'Mend the file.', { cause })
  }
}

/** `//` and block comments become white space, so that a fault is still named by its line and column. */
function blankComments(text: string): string {
  return text.replace(/"(?:\\.|[^"\\])*"|\/\/[^\n]*|\/\*[\s\S]*?\*\//g, found =>
    found.startsWith('"') ? found : found.replace(/[^\n]/g, ' '),
  )
}

/** @throws AggregateError of ConfigErrors, one for each fault */
export function parseConfig(tree: unknown): Config {
  const parsed = configSchema.safeParse(tree)
  if (parsed.success) return parsed.data
  throw new AggregateError(toConfigErrors(parsed.error), 'The configuration has faults')
}
