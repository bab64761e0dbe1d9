import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { ConfigError } from '@postern/core'

/** A path, relative or absolute, to something that runs as it is. */
export const modulePathPattern = /^(?:\.{1,2}\/|\/).*\.(?:ts|mts|js|mjs)$/

/** Loads a module of the operator's, by a path that starts from the configuration file. @throws ConfigError naming `key` */
export async function importModule(path: string, key: string, baseDir: string): Promise<unknown> {
  const file = resolve(baseDir, path)
  try {
    return await import(pathToFileURL(file).href)
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    const mend = `Check that ${file} exists and runs by itself: node ${file}`
    throw new ConfigError(key, `"${path}" cannot be loaded: ${reason}`, mend, { cause: error })
  }
}
