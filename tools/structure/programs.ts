// Finds imported files that do something as soon as they are loaded.
import type { SourceFile } from './source-files.ts'

/** Pattern of quoted text, which does nothing: a comment, a text of several lines. */
const quoted = /^\s*(?:\/\/|\/?\*).*$|`(?:[^`\\]|\\.)*`/gm
/** A call, or something of `process` that is set, outside of all functions. */
const deed = /^(?:await |void )?[\w.]+\(|^process\.\w+ = /m

/**
 * Files that do something when they are loaded, and that others import for what they export: a process of its own would begin a second time, within
 * another one.
 */
export function findImportedPrograms(files: readonly SourceFile[]): readonly string[] {
  const programs = new Set(files.filter(({ text }) => deed.test(text.replace(quoted, ''))).map(({ path }) => path))
  return files.flatMap(({ path, imports }) =>
    imports
      .filter(({ isRun, target }) => isRun && target && programs.has(target))
      .map(({ target }) => `${path} imports ${target}, which does something when it is loaded`),
  )
}
