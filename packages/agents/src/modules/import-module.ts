import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { ConfigError } from '@postern/core'
import { describeLoadFault } from './load-fault.ts'
import { importOperatorModule } from './operator-modules.ts'

/** A path, relative or absolute, to something that runs as it is. */
export const modulePathPattern = /^(?:\.{1,2}\/|\/).*\.(?:ts|mts|js|mjs)$/

/** Loads one of the operator's modules, by a path that starts from the configuration file. @throws ConfigError naming `key` */
export async function importModule(path: string, key: string, baseDir: string): Promise<unknown> {
  const file = resolve(baseDir, path)
  if (!existsSync(file))
    throw new ConfigError(key, `"${path}" cannot be loaded: there is no file ${file}`, 'Correct the path.')
  try {
    return await importOperatorModule(pathToFileURL(file).href)
  } catch (error) {
    const { problem, fix = `Check that ${file} exists and runs by itself: node ${file}` } = describeLoadFault(
      error,
      baseDir,
    )
    throw new ConfigError(key, `"${path}" cannot be loaded: ${problem}`, fix, { cause: error })
  }
}
