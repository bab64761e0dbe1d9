/** A semantic version without build data (semver.org 2.0.0). */
export const versionPattern = /^\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?$/

/** The text of a `package.json` or `pyproject.toml` with another version; nothing else of it changes. @throws Error without a version */
export function replaceVersion(path: string, text: string, version: string): string {
  const pattern = path.endsWith('.toml') ? /^(version = ")[^"]*(")/m : /^( {2}"version": ")[^"]*(")/m
  if (!pattern.test(text)) throw new Error(`Cannot find a version in ${path}`)
  return text.replace(pattern, `$1${version}$2`)
}

export function readVersion(path: string, text: string): string | undefined {
  return (path.endsWith('.toml') ? /^version = "([^"]*)"/m : /^ {2}"version": "([^"]*)"/m).exec(text)?.[1]
}
