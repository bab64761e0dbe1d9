// Finds imported files that act as soon as they are loaded.
import type { SourceFile } from './source-files.ts'

/** Matches text that does nothing when loaded: comments and template literals. */
const inertText = /^\s*(?:\/\/|\/?\*).*$|`(?:[^`\\]|\\.)*`/gm
/** Matches a call, or an assignment to a member of `process`, outside of all functions. */
const topLevelEffect = /^(?:await |void )?[\w.]+\(|^process\.\w+ = /m

/**
 * Finds files that act when loaded although others import their exports. The import would start such a program a second time, inside
 * another one.
 */
export function findImportedPrograms(files: readonly SourceFile[]): readonly string[] {
  const programs = new Set(
    files.filter(({ text }) => topLevelEffect.test(text.replace(inertText, ''))).map(({ path }) => path),
  )
  return files.flatMap(({ path, imports }) =>
    imports
      .filter(({ isRun, target }) => isRun && target && programs.has(target))
      .map(({ target }) => `${path} imports ${target}, which does something when it is loaded`),
  )
}
