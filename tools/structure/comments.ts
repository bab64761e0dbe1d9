// Finds source files whose first line does not say what they are for, and comments that are no sentences.
import type { SourceFile } from './source-files.ts'
import { isTestFile } from './source-files.ts'

/** The words that begin a fragment: "What is stored." names no subject, "Whether it is." no verb of its own. */
const fragment = /^(?:As|How|Of|That|Until|What|Whatever|When|Where|Whether|Which|Who|Whoever|Whom|Whose|Why)\b/

/** The beginning of a comment, without its marks. */
const beginning = /^\s*(?:\/\/|\/\*\*?(?!\/))\s*(.*)$/
const lineComment = /^\s*\/\//

/** Finds source files that begin with an import or with code. A line such as `#!` may stand above; vendored files stay as they are. */
export function findSilentFiles(files: readonly SourceFile[]): readonly string[] {
  return files
    .filter(({ path }) => !isTestFile(path) && !/\/test\/|\/vendor\//.test(path))
    .filter(({ text }) => !/^(?:#![^\n]*\n)?\/[/*]/.test(text))
    .map(({ path }) => `${path} begins without a line that says what it is for`)
}

/** Comments that begin with a word of a fragment. A line below another comment goes on with its sentence. */
export function findFragments(files: readonly SourceFile[]): readonly string[] {
  return files.flatMap(({ path, text }) => {
    const lines = text.split('\n')
    return lines.flatMap((line, at) => {
      const [, words = ''] = beginning.exec(line) ?? []
      const said = words === '' && /^\s*\/\*\*\s*$/.test(line) ? (lines[at + 1] ?? '').replace(/^\s*\*\s*/, '') : words
      if (!fragment.test(said) || (lineComment.test(line) && lineComment.test(lines[at - 1] ?? ''))) return []
      return [`${path}:${at + 1} "${said.slice(0, 60)}" is no sentence: begin with its subject or its verb`]
    })
  })
}
