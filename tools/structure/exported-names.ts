// Finds star exports and duplicate exported names.
import type { SourceFile } from './source-files.ts'

/** Matches files that are loaded by name or position instead of by an import: agents of tests, examples and templates. */
const standalonePattern =
  /^examples\/|\/test\/(agents|modules|tools)\/|^apps\/(bench\/src\/ours|connector-example)\/agents\/|\/templates\//

/** Finds files that export everything of another file without naming it. */
export function findStarExports(files: readonly SourceFile[]): readonly string[] {
  return files
    .filter(({ text }) => /^export \* /m.test(text))
    .map(({ path }) => `${path} has "export *": name what it exports`)
}

/** The name that vitest prescribes for the set-up of a project's tests. */
const setupName = 'setup'

/** Finds names that more than one file exports. */
export function findDuplicateNames(files: readonly SourceFile[]): readonly string[] {
  const exported = files
    .filter(({ path }) => !standalonePattern.test(path))
    .flatMap(({ path, exports }) => exports.filter(name => name !== setupName).map(name => ({ name, path })))
  return [...Map.groupBy(exported, ({ name }) => name)]
    .filter(([, occurrences]) => occurrences.length > 1)
    .map(([name, occurrences]) => `${name} is exported by ${occurrences.map(({ path }) => path).join(', ')}`)
}
