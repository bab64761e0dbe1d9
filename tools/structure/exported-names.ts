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
  const paths = new Map<string, string[]>()
  for (const { path, exports } of files.filter(file => !standsAlone.test(file.path))) {
    for (const name of exports) paths.set(name, [...(paths.get(name) ?? []), path])
  }
  return [...paths].filter(([, all]) => all.length > 1).map(([name, all]) => `${name} is exported by ${all.join(', ')}`)
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
