// Checks the prose of the docs: sentence length, active voice and the vocabulary.
import type { MarkdownPage } from '../pages.ts'
import type { Passage } from './passages.ts'
import { blankFrontMatter, readPassages, restoreCodes } from './passages.ts'
import type { Sentence } from './sentences.ts'
import { countWords, findPassive, splitSentences } from './sentences.ts'
import { dropQuotations, findBannedWord } from './words.ts'

/**
 * Returns the faults of all pages, each as a text `file:line rule words (fix)` with the sentence below it. Pages in `exempt` may have
 * faults, because nobody has rewritten them yet. An exempt page without faults must leave the list.
 */
export function checkProse(pages: readonly MarkdownPage[], exempt: readonly string[]): readonly string[] {
  const faulty = new Set<string>()
  const faults = pages.filter(isProse).flatMap(({ path, text }) => {
    const pageFaults = findProseFaults(path, text)
    if (pageFaults.length > 0) faulty.add(path)
    // The site cannot build a page with an unknown tag, so these faults count even on exempt pages.
    const counting = exempt.includes(path) ? pageFaults.filter(({ rule }) => rule === 'tag') : pageFaults
    return counting.map(({ line, rule, words, fix, display }) => {
      const head = `${path}:${line}  ${rule}  "${words}"  (${fix})`
      return display === '' ? head : `${head}\n    ${display}`
    })
  })
  const staleExemptions = exempt
    .filter(path => !faulty.has(path))
    .map(path => `tools/docs/prose/exempt.txt: remove ${path}, which has no fault or is not there`)
  return [...faults, ...staleExemptions]
}

/** Returns true for a page of prose. Other Markdown files are input for programs, such as the prompt of a model. */
function isProse({ path }: MarkdownPage): boolean {
  return /^docs\/|^[^/]+$|(^|\/)README\.md$/.test(path)
}

/** A fault at one position of a page. */
interface ProseFault {
  readonly line: number
  readonly rule: ProseRule
  /** The words at fault. */
  readonly words: string
  readonly fix: string
  /** The sentence or cell with the fault; empty if the fault concerns a whole page. */
  readonly display: string
}

type ProseRule = keyof typeof proseRules

const maxWords = 25
const maxPageWords = 800

/** The rules, with a sentence for each, for `--help`. */
export const proseRules = {
  'long-sentence': `a sentence has at most ${maxWords} words; a code span is one word`,
  'long-cell': `a cell of a table has at most ${maxWords} words`,
  'long-page': `a page of docs/guides has at most ${maxPageWords} words, without its code`,
  word: 'no metaphors, no former names (tools/docs/prose/words.ts), no "he"',
  passive: 'active voice: somebody does something (tools/docs/prose/sentences.ts says what it finds)',
  tag: 'no tag that HTML does not have: `<name>` is code, or the page loses it',
  'clause-first': 'no sentence begins with "Who …", "What …" or "Of those …"; questions and headings may',
}

/** Finds every violation of the rules in a page, in the order of its lines. */
export function findProseFaults(path: string, markdown: string): readonly ProseFault[] {
  const passages = readPassages(markdown)
  const sentences = passages.flatMap(splitSentences).flatMap(findSentenceFaults)
  return [
    ...findLongPage(path, markdown),
    ...[...passages.flatMap(findPassageFaults), ...sentences].sort((left, right) => left.line - right.line),
  ]
}

function findPassageFaults({ kind, line, text, codes, tags }: Passage): readonly ProseFault[] {
  const display = restoreCodes(text, codes)
  const faults: ProseFault[] = tags
    .filter(tag => !knownTag.test(tag))
    .map(tag => ({ line, rule: 'tag', words: tag, fix: 'write it as code', display }))
  const count = countWords(text)
  if (kind !== 'cell' || count <= maxWords) return faults
  const fix = 'move it into a paragraph below the table'
  return [{ line, rule: 'long-cell', words: `${count} words`, fix, display }, ...faults]
}

const knownTag = /^<(?:!--|\/?(?:a|br|code|details|div|em|img|kbd|p|picture|source|span|strong|sub|summary|sup)\b)/i

function findSentenceFaults(sentence: Sentence): readonly ProseFault[] {
  const { kind, line, text, display } = sentence
  const faults: ProseFault[] = []
  const add = (rule: ProseRule, message: string, fix: string) =>
    faults.push({ line, rule, words: message, fix, display })
  const count = countWords(text)
  if (kind !== 'cell' && count > maxWords) add('long-sentence', `${count} words`, 'make two sentences of it')
  const banned = findBannedWord(text)
  if (banned) add('word', banned.words, banned.fix)
  if (kind === 'heading') return faults
  const passive = findPassive(dropQuotations(text))
  if (passive) add('passive', passive, 'say who does it: subject, verb, object')
  const [clause] = kind === 'text' && !text.endsWith('?') ? (clauseFirst.exec(text) ?? []) : []
  if (clause) add('clause-first', clause, 'begin with who does something')
  return faults
}

const clauseFirst =
  /^(?:Who|Whoever|Whom|What|Whatever|Whichever|Of (?:all|each|several|such|the|these|this|those|two|what|which))\b/

function findLongPage(path: string, markdown: string): readonly ProseFault[] {
  if (!path.startsWith('docs/guides/')) return []
  const count = countWords(blankFrontMatter(markdown).replace(/^(```+|~~~+)[\s\S]*?^\1/gm, ''))
  if (count <= maxPageWords) return []
  return [{ line: 1, rule: 'long-page', words: `${count} words`, fix: 'make two pages, one task each', display: '' }]
}
