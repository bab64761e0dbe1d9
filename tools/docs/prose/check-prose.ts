import type { MarkdownPage } from '../pages.ts'
import { findProseFaults } from './rules.ts'

/**
 * Faults of all pages, one text each: `file:line  rule  words  (fix)`, and the sentence below it.
 * A page in `exempt` has not been rewritten, and may have faults; one without any has to leave the list.
 */
export function checkProse(pages: readonly MarkdownPage[], exempt: readonly string[]): readonly string[] {
  const faulty = new Set<string>()
  const faults = pages.filter(isProse).flatMap(({ path, text }) => {
    const found = findProseFaults(path, text)
    if (found.length > 0) faulty.add(path)
    // A page with a strange tag cannot be built.
    const counting = exempt.includes(path) ? found.filter(({ rule }) => rule === 'tag') : found
    return counting.map(({ line, rule, found: words, fix, shown }) => {
      const head = `${path}:${line}  ${rule}  "${words}"  (${fix})`
      return shown === '' ? head : `${head}\n    ${shown}`
    })
  })
  const stale = exempt
    .filter(path => !faulty.has(path))
    .map(path => `tools/docs/prose/exempt.txt: remove ${path}, which has no fault or is not there`)
  return [...faults, ...stale]
}

/** Other Markdown files are given to programs, such as the prompt of a model. */
function isProse({ path }: MarkdownPage): boolean {
  return /^docs\/|^[^/]+$|(^|\/)README\.md$/.test(path)
}
