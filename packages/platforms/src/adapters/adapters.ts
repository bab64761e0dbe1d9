// Loads the adapter of a platform, an optional package that the operator installs.
import { readFileSync } from 'node:fs'
import { findPackageJSON } from 'node:module'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { ConfigError, parseJsonText } from '@postern/message'

interface AdapterRequest {
  /** The name of the platform, which is its key in the configuration. */
  readonly name: string
  /** The npm package of the adapter. */
  readonly library: string
  /** The folder of the configuration file. */
  readonly baseDir: string
}

/**
 * Loads an adapter from the folder of the configuration file, or else from the gateway's own installation.
 * @throws ConfigError with the command that installs it
 */
export async function loadAdapter({ name, library, baseDir }: AdapterRequest): Promise<unknown> {
  const origins = [pathToFileURL(join(baseDir, 'postern.config.js')).href, import.meta.url]
  const manifest = origins.map(origin => findManifest(library, origin)).find(path => path !== undefined)
  if (manifest === undefined) {
    const problem = `needs the package "${library}", which is not installed`
    throw new ConfigError(`platforms.${name}`, problem, `Run in ${baseDir}: npm i ${library}`)
  }
  const entry = join(dirname(manifest), readEntry(manifest))
  try {
    return await import(/* @vite-ignore */ pathToFileURL(entry).href)
  } catch (cause) {
    const problem = `the package "${library}" cannot be loaded (${cause instanceof Error ? cause.message : String(cause)})`
    throw new ConfigError(`platforms.${name}`, problem, `Run in ${baseDir}: npm i ${library}`, { cause })
  }
}

/** Finds the manifest of a package as a file at `origin` would; undefined if the package is not installed there. */
function findManifest(library: string, origin: string): string | undefined {
  try {
    return findPackageJSON(library, origin)
  } catch {
    return undefined
  }
}

interface AdapterManifest {
  readonly exports?: { readonly '.'?: { readonly import?: string } }
  readonly main?: string
}

/** Returns the path of the module that `import` would load. A manifest without exports names it as `main`. */
function readEntry(manifest: string): string {
  const { exports, main = 'index.js' } = parseJsonText(readFileSync(manifest, 'utf8')) as AdapterManifest
  return exports?.['.']?.import ?? main
}
