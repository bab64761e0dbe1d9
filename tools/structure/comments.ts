// Finds source files whose first line does not state their purpose, and comments that are not sentences.
import type { SourceFile } from './source-files.ts'
import { isTestFile } from './source-files.ts'

/** The words that begin a fragment: "What is stored." has no subject, and "Whether it is." has no main clause. */
const fragment = /^(?:As|How|Of|That|Until|What|Whatever|When|Where|Whether|Which|Who|Whoever|Whom|Whose|Why)\b/

/** Matches a line that begins a comment, and captures its text. */
const commentStart = /^\s*(?:\/\/|\/\*\*?(?!\/))\s*(.*)$/
const lineComment = /^\s*\/\//

/** Finds source files that begin with an import or with code. A line such as `#!` may come first. Vendored files are exempt. */
export function findSilentFiles(files: readonly SourceFile[]): readonly string[] {
  return files
    .filter(({ path }) => !isTestFile(path) && !/\/test\/|\/vendor\//.test(path))
    .filter(({ text }) => !/^(?:#![^\n]*\n)?\/[/*]/.test(text))
    .map(({ path }) => `${path} begins without a line that says what it is for`)
}

/** Finds comments that begin with the first word of a fragment. A line below another comment continues its sentence. */
export function findFragments(files: readonly SourceFile[]): readonly string[] {
  return files.flatMap(({ path, text }) => {
    const lines = text.split('\n')
    return lines.flatMap((line, index) => {
      const [, content = ''] = commentStart.exec(line) ?? []
      const sentence =
        content === '' && /^\s*\/\*\*\s*$/.test(line) ? (lines[index + 1] ?? '').replace(/^\s*\*\s*/, '') : content
      if (!fragment.test(sentence) || (lineComment.test(line) && lineComment.test(lines[index - 1] ?? ''))) return []
      return [`${path}:${index + 1} "${sentence.slice(0, 60)}" is no sentence: begin with its subject or its verb`]
    })
  })
}
