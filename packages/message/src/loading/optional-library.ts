// Loads libraries that only some users install, and says how to install missing ones.
import { ConfigError } from '../format/errors.ts'
import { formatList } from '../format/text/list.ts'

interface OptionalLibraryOptions {
  /** The key of the configuration that needs them. */
  readonly key: string
  /** The names of the libraries on npm. */
  readonly libraries: readonly string[]
}

/**
 * Loads code whose libraries a user installs only if they use it.
 * @throws ConfigError that names the libraries if one of them is not installed, or any other error of the import
 */
export async function loadOptionalLibrary<Loaded>(
  load: () => Promise<Loaded>,
  { key, libraries }: OptionalLibraryOptions,
): Promise<Loaded> {
  try {
    return await load()
  } catch (cause) {
    if (!isMissingLibrary(cause, libraries)) throw cause
    const names = formatList(libraries.map(name => `"${name}"`))
    const problem = `needs ${names}, which ${libraries.length > 1 ? 'are' : 'is'} not installed`
    throw new ConfigError(key, problem, `Run: npm install ${libraries.join(' ')}`, { cause })
  }
}

/** Returns true if an error says that one of the libraries is missing: `Cannot find package 'pg' imported from …`. */
function isMissingLibrary(error: unknown, libraries: readonly string[]): boolean {
  if (!(error instanceof Error) || !('code' in error)) return false
  if (error.code !== 'ERR_MODULE_NOT_FOUND' && error.code !== 'MODULE_NOT_FOUND') return false
  return libraries.some(name => error.message.includes(`'${name}'`) || error.message.includes(`'${name}/`))
}
