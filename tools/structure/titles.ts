import { findPassive } from '../docs/prose/passive.ts'
import { countWords } from '../docs/prose/sentences.ts'
import { dropQuotations } from '../docs/prose/words.ts'
import type { SourceFile } from './source-files.ts'
import { isTestFile } from './source-files.ts'

const maxWords = 25

/** The first argument of `test('…', …)`, of `test.skip('…', …)` and, behind their rows, of `test.each(rows)('…', …)`. */
const titlePattern =
  /(?:\b(?:test|it|describe)(?:\.\w+)?|(?<=\n\s*\]|\b(?:test|it|describe)\.each\([^\n]*)\))\(\s*(?:'((?:\\.|[^'\\\n])+)'|"((?:\\.|[^"\\\n])+)"|`((?:\\.|[^`\\])+)`)\s*,/g

/** Titles that are too long for one reading, or do not say who acts. */
export function findTitleFaults(files: readonly SourceFile[]): readonly string[] {
  return files
    .filter(({ path }) => isTestFile(path))
    .flatMap(({ path, text }) =>
      [...text.matchAll(titlePattern)].flatMap(match => {
        const title = (match[1] ?? match[2] ?? match[3] ?? '').replace(/\$\{[^}]*\}/g, 'X')
        const line = text.slice(0, match.index).split('\n').length
        return judgeTitle(title).map(fault => `${path}:${line} "${shorten(title)}": ${fault}`)
      }),
    )
}

function judgeTitle(title: string): readonly string[] {
  const count = countWords(title)
  const passive = findPassive(dropQuotations(title))
  return [
    ...(count > maxWords ? [`${count} words, at most ${maxWords}`] : []),
    ...(passive === undefined ? [] : [`say who acts, instead of "${passive}"`]),
  ]
}

function shorten(title: string): string {
  const words = title.split(' ')
  return words.length > 6 ? `${words.slice(0, 6).join(' ')} …` : title
}
