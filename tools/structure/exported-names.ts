import type { SourceFile } from './source-files.ts'

/** What loads by its name or place, not by an import: agents' files of tests, examples and templates. */
const standsAlone =
  /^examples\/|\/test\/(agents|modules|tools)\/|^apps\/(bench\/src\/ours|connector-example)\/agents\/|\/templates\//

/** Files that export all of another file without naming it. */
export function findStarExports(files: readonly SourceFile[]): readonly string[] {
  return files
    .filter(({ text }) => /^export \* /m.test(text))
    .map(({ path }) => `${path} has "export *": name what it exports`)
}

/** Names that more than one file exports. */
export function findDuplicateNames(files: readonly SourceFile[]): readonly string[] {
  const exported = files
    .filter(({ path }) => !standsAlone.test(path))
    .flatMap(({ path, exports }) => exports.map(name => ({ name, path })))
  return [...Map.groupBy(exported, ({ name }) => name)]
    .filter(([, all]) => all.length > 1)
    .map(([name, all]) => `${name} is exported by ${all.map(({ path }) => path).join(', ')}`)
}

/** Names that are exported, and that no other file of `readers` has in it. */
export function findUnusedNames(
  files: readonly SourceFile[],
  readers: readonly Pick<SourceFile, 'path' | 'text'>[],
): readonly string[] {
  const seen = new Map<string, string | true>()
  for (const { path, text } of readers) {
    for (const word of new Set(text.match(/[\w$]+/g))) seen.set(word, seen.has(word) ? true : path)
  }
  return files
    .filter(({ path }) => !standsAlone.test(path))
    .flatMap(({ path, exports }) =>
      exports.filter(name => seen.get(name) !== true).map(name => `${path} exports ${name}, which no other file names`),
    )
}
