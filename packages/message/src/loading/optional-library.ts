// Loads libraries that only some users install, and tells the others how to install them.
import { ConfigError } from '../format/errors.ts'
import { formatList } from '../format/text/list.ts'

interface OptionalLibraries {
  /** Key of the configuration that asks for them. */
  readonly key: string
  /** Their names, as npm knows them. */
  readonly libraries: readonly string[]
}

/**
 * Loads code whose libraries a user installs only if they use it.
 * @throws ConfigError naming the libraries if one of them is not installed; whatever else loading throws
 */
export async function loadOptional<Loaded>(
  load: () => Promise<Loaded>,
  { key, libraries }: OptionalLibraries,
): Promise<Loaded> {
  try {
    return await load()
  } catch (cause) {
    if (!isMissing(cause, libraries)) throw cause
    const names = formatList(libraries.map(name => `"${name}"`))
    const problem = `needs ${names}, which ${libraries.length > 1 ? 'are' : 'is'} not installed`
    throw new ConfigError(key, problem, `Run: npm install ${libraries.join(' ')}`, { cause })
  }
}

/** The runtime names the missing package in its message: `Cannot find package 'pg' imported from …`. */
function isMissing(error: unknown, libraries: readonly string[]): boolean {
  if (!(error instanceof Error) || !('code' in error)) return false
  if (error.code !== 'ERR_MODULE_NOT_FOUND' && error.code !== 'MODULE_NOT_FOUND') return false
  return libraries.some(name => error.message.includes(`'${name}'`) || error.message.includes(`'${name}/`))
}
