// Cuts long Markdown into fragments that render correctly on their own.
import { markdownToPostHtml } from '@postern/markup/markdown'
import { countText, countVisible } from '../html/visible-length.ts'
import { countPrefix } from './count-prefix.ts'
import type { Cut, Fragment, MaxCharsOfPiece } from './cut-text.ts'
import { createCut, cutParagraph, cutPlain } from './cut-text.ts'
import type { BlockKind, SourceBlock } from './source-blocks.ts'
import {
  bulletPattern,
  fencePattern,
  headingPattern,
  indentedPattern,
  indentPattern,
  isParagraph,
  quotePattern,
  readLines,
  readSourceBlocks,
} from './source-blocks.ts'

/** The characters that are reserved in an item for its mark and for lines that become paragraphs. */
const itemReserveChars = 4

/** Cuts Markdown between its blocks first, then inside blocks that are too long. Each part of a block is a block again. */
export const cutMarkdown: Cut = (markdown, limits) => {
  const fragments = createBlockCut(0)(markdown.replace(/\r\n?/g, '\n'), limits)
  return carryHeadings(fragments, limits)
}

type BlockCut = (source: string, limits: MaxCharsOfPiece, depth: number) => readonly Fragment[]

const cutsByKind: Readonly<Record<BlockKind, BlockCut>> = {
  blank: cutLines,
  fence: cutFence,
  heading: cutLines,
  rule: cutLines,
  quote: cutQuote,
  list: cutList,
  paragraph: cutLines,
}

function createBlockCut(depth: number): Cut {
  const cutSection = createCut({
    split: section => readGroups(section, depth, ({ kind }) => kind !== 'blank'),
    measure: countMarkdown,
    separatorLength: separatorLengths.block,
    cutOversized: (source, limits) => cutBlock(source, limits, depth),
  })
  return createCut({
    split: source => readGroups(source, depth, createSectionStartCheck()),
    measure: countMarkdown,
    separatorLength: separatorLengths.block,
    cutOversized: cutSection,
  })
}

/** Yields groups of blocks. Each group ends before the next block that begins one. */
function* readGroups(source: string, depth: number, startsGroup: (block: SourceBlock) => boolean): Generator<string> {
  let group = ''
  for (const block of readSourceBlocks(source, depth)) {
    if (startsGroup(block) && group.trim()) {
      yield group
      group = ''
    }
    group += block.source
  }
  if (group) yield group
}

/** Creates the check for the beginning of a section. A heading stays with the block after it. */
function createSectionStartCheck(): (block: SourceBlock) => boolean {
  let isUnderHeading = false
  return ({ kind }) => {
    if (kind === 'blank') return false
    const startsSection = !isUnderHeading
    isUnderHeading = kind === 'heading'
    return startsSection
  }
}

/** Cuts one block, with the blank lines around it. */
function cutBlock(source: string, limits: MaxCharsOfPiece, depth: number): readonly Fragment[] {
  const block = [...readSourceBlocks(source, depth)].find(({ kind }) => kind !== 'blank')
  const fragments = block ? cutsByKind[block.kind](block.source, limits, depth) : []
  return fragments.map(({ text, length }) => ({ text: text && `${text.trimEnd()}\n\n`, length }))
}

/** Cuts a paragraph. The new beginning of a line must not look like the beginning of a block. */
function cutLines(source: string, limits: MaxCharsOfPiece): readonly Fragment[] {
  const fragments = carryEmphasis(cutParagraph(source, limits))
  const firstIndex = fragments.findIndex(({ text }) => text)
  return fragments.map(({ text, length }, index) => ({
    text: index > firstIndex ? escapeBlockStart(text) : text,
    length,
  }))
}

function escapeBlockStart(text: string): string {
  return isParagraph(text) ? text : text.replace(/^(\s*)(\d*)/, '$1$2\\')
}

function cutQuote(source: string, limits: MaxCharsOfPiece, depth: number): readonly Fragment[] {
  const innerLines = readLines(source).map(line => line.replace(quotePattern, ''))
  return createBlockCut(depth + 1)(innerLines.join(''), limits).map(fragment =>
    wrapLines(fragment, line => `> ${line}`),
  )
}

/** Cuts a list. Items keep their mark, and so their number. The remainder of a cut item continues without a mark. */
function cutList(source: string, limits: MaxCharsOfPiece, depth: number): readonly Fragment[] {
  const cutLongItem: Cut = (item, itemLimits) => cutItem(item, itemLimits, depth)
  return createCut({
    split: readItems,
    measure: countMarkdown,
    separatorLength: separatorLengths.line,
    cutOversized: cutLongItem,
  })(numberItems(source), limits)
}

/** Writes the displayed number of each item into its mark, because the item may become the first of a list. */
function numberItems(list: string): string {
  let nextNumber = Number(/^ *(\d+)/.exec(list)?.[1])
  const lines = readLines(list).map(line => (beginsItem(line) ? line.replace(/^( *)\d+/, `$1${nextNumber++}`) : line))
  return lines.join('')
}

function* readItems(list: string): Generator<string> {
  let item = ''
  for (const line of readLines(list)) {
    if (item && beginsItem(line)) {
      yield item
      item = ''
    }
    item += line
  }
  if (item) yield item
}

function beginsItem(line: string): boolean {
  return bulletPattern.test(line) && !indentedPattern.test(line)
}

function cutItem(item: string, limits: MaxCharsOfPiece, depth: number): readonly Fragment[] {
  const mark = bulletPattern.exec(item)?.[0] ?? ''
  const [firstLine = '', ...otherLines] = readLines(item)
  const innerText = firstLine.slice(mark.length) + otherLines.map(line => line.replace(indentPattern, '')).join('')
  const fragments = createBlockCut(depth + 1)(innerText, piece => limits(piece) - itemReserveChars)
  const firstIndex = fragments.findIndex(({ text }) => text)
  return fragments.map((fragment, index) => (index === firstIndex ? markItem(fragment, mark) : fragment))
}

/** Writes a fragment as an item. It has no blank lines, because they would end the item. */
function markItem({ text, length }: Fragment, mark: string): Fragment {
  const [firstLine = '', ...otherLines] = text.split('\n').filter(line => line.trim())
  return {
    text: [mark + firstLine, ...otherLines.map(line => `    ${line}`), ''].join('\n'),
    length: length + itemReserveChars,
  }
}

function wrapLines({ text, length }: Fragment, wrap: (line: string) => string): Fragment {
  const lines = text ? text.trimEnd().split('\n') : []
  return { text: lines.map(wrap).join('\n'), length }
}

/** Cuts fenced code. Each piece has the same fence as the whole. */
function cutFence(source: string, limits: MaxCharsOfPiece): readonly Fragment[] {
  const [opening = '', ...lines] = readLines(source)
  const mark = fencePattern.exec(opening)?.[1] ?? ''
  const isClosed = lines.length > 0 && (lines.at(-1) ?? '').trim().startsWith(mark)
  const code = (isClosed ? lines.slice(0, -1) : lines).join('')
  return cutCode(code, limits).map(({ text, length }) => {
    if (!text) return { text, length }
    const fence = lengthenMark(mark, text)
    const lineEnd = text.endsWith('\n') ? '' : '\n'
    return { text: `${opening.trim().replace(mark, fence)}\n${text}${lineEnd}${fence}`, length }
  })
}

const cutCode = createCut({ split: readLines, measure: countText, separatorLength: 0, cutOversized: cutPlain })

/** Lengthens the fence if the code contains it, because a line that was cut may begin with the end of a fence. */
function lengthenMark(mark: string, code: string): string {
  const char = mark[0] ?? '`'
  const runs = code.match(char === '~' ? /^[ \t]*~+/gm : /^[ \t]*`+/gm) ?? []
  const maxRunLength = Math.max(0, ...runs.map(run => run.trim().length))
  return maxRunLength < mark.length ? mark : char.repeat(maxRunLength + 1)
}

/** The pattern of code, which is skipped, and of the positions at which bold text may begin or end. */
const boldMarkPattern = /`[^`\n]*`|(?<begin>(?<![^\s("'])\*\*(?=[^\s*]))|(?<end>(?<=[^\s*])\*\*)/g

/** Closes bold text at the end of a fragment, and opens it again in the next. A mark without a counterpart stays as it is. */
function carryEmphasis(fragments: readonly Fragment[]): readonly Fragment[] {
  if (isBoldAfter(fragments.map(({ text }) => text).join(''), false)) return fragments
  let isBold = false
  return fragments.map(({ text, length }) => {
    const openingMark = isBold && text ? '**' : ''
    isBold = isBoldAfter(text, isBold)
    const closingMark = isBold && text ? '**' : ''
    const boldText = openingMark ? text.trim() : text.trimEnd()
    return { text: text && `${openingMark}${boldText}${closingMark} `, length }
  })
}

function isBoldAfter(text: string, wasBold: boolean): boolean {
  let isBold = wasBold
  for (const { groups } of text.matchAll(boldMarkPattern)) {
    if (isBold ? groups?.end : groups?.begin) isBold = !isBold
  }
  return isBold
}

/** Moves a heading at the end of a piece into the next piece, to the text that it belongs to, if the heading fits there. */
function carryHeadings(fragments: readonly Fragment[], limits: MaxCharsOfPiece): readonly Fragment[] {
  const movedFragments = fragments.map(fragment => ({ ...fragment }))
  for (const [index, fragment] of movedFragments.entries()) {
    const nextFragment = movedFragments[index + 1]
    const line = findLastLine(fragment.text)
    if (!nextFragment || !headingPattern.test(line)) continue
    const length = countMarkdown(line, Number.POSITIVE_INFINITY) + separatorLengths.block
    if (nextFragment.length + length > limits(index + 1) || (index > 0 && fragment.length <= length)) continue
    Object.assign(fragment, { text: fragment.text.trimEnd().slice(0, -line.length), length: fragment.length - length })
    Object.assign(nextFragment, { text: `${line}\n\n${nextFragment.text}`, length: nextFragment.length + length })
  }
  return movedFragments
}

function findLastLine(text: string): string {
  const trimmedText = text.trimEnd()
  return trimmedText.slice(trimmedText.lastIndexOf('\n') + 1)
}

/** The lengths of the separators between blocks and between lines. */
const separatorLengths = { block: 2, line: 1 } as const

function countMarkdown(source: string, max: number): number {
  return countPrefix(source, max, (text, maxLength) => countVisible(markdownToPostHtml(text), maxLength))
}
