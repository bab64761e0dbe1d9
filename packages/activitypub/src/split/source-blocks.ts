// Divides Markdown into its blocks, as they stand in the source.

/** The depth at which blocks contain no further blocks, so that everything is a paragraph. */
const maxDepth = 6

/** Patterns for the first line of each kind of block. */
export const fencePattern = /^ {0,3}(```+|~~~+)/
export const bulletPattern = /^( {0,3})([-*+]|\d{1,9}[.)])( +|$)/
export const quotePattern = /^ {0,3}> ?/
export const headingPattern = /^ {0,3}#{1,6} +/
const rulePattern = /^ {0,3}([-*_])( *\1){2,} *$/
/** Matches a line that continues the list item above it. */
export const indentedPattern = /^ {2,}\S/
/** Matches the indent that is removed from such a line. */
export const indentPattern = /^ {2,4}/

function isOrderedItem(line: string): boolean {
  return /^\s*\d/.test(line)
}

export type BlockKind = 'blank' | 'fence' | 'heading' | 'rule' | 'quote' | 'list' | 'paragraph'

export interface SourceBlock {
  readonly kind: BlockKind
  /** The lines of the block, each with its line end. */
  readonly source: string
}

/** A function that finds the end of the block that begins with line `index`. */
type EndFinder = (lines: readonly string[], index: number) => number

/** The kinds of blocks, in the order in which the HTML writer tries them. */
const blockSyntaxes: readonly (readonly [kind: BlockKind, begins: RegExp, end: EndFinder])[] = [
  ['blank', /^\s*$/, (_, index) => index + 1],
  ['fence', fencePattern, findFenceEnd],
  ['heading', headingPattern, (_, index) => index + 1],
  ['rule', rulePattern, (_, index) => index + 1],
  ['quote', quotePattern, (lines, index) => findRunEnd(lines, index, line => quotePattern.test(line))],
  ['list', bulletPattern, findListEnd],
]

/** Yields the blocks of Markdown that is nested in `depth` other blocks, as they are in the source. Joined, they are the source again. */
export function* readSourceBlocks(markdown: string, depth: number): Generator<SourceBlock> {
  const lines = readLines(markdown)
  for (let index = 0; index < lines.length; ) {
    const [kind, , findEnd] = findKind(lines[index] ?? '', depth) ?? [
      'paragraph',
      fencePattern,
      createParagraphEndFinder(depth),
    ]
    const end = findEnd(lines, index)
    yield { kind, source: lines.slice(index, end).join('') }
    index = end
  }
}

/** Returns the lines of a text with their line ends. */
export function readLines(text: string): readonly string[] {
  return text.match(/[^\n]*\n|[^\n]+/g) ?? []
}

/** Returns true if a text is a paragraph by its first line. */
export function isParagraph(text: string): boolean {
  return findKind(/[^\n]*/.exec(text)?.[0] ?? '', 0) === undefined
}

function findKind(line: string, depth: number): (typeof blockSyntaxes)[number] | undefined {
  const text = removeLineEnd(line)
  return depth < maxDepth ? blockSyntaxes.find(([, begins]) => begins.test(text)) : undefined
}

function createParagraphEndFinder(depth: number): EndFinder {
  return (lines, index) => findRunEnd(lines, index, line => findKind(line, depth) === undefined)
}

function findFenceEnd(lines: readonly string[], index: number): number {
  const mark = fencePattern.exec(lines[index] ?? '')?.[1] ?? ''
  return Math.min(lines.length, findRunEnd(lines, index, line => !line.trim().startsWith(mark)) + 1)
}

function findListEnd(lines: readonly string[], index: number): number {
  const isOrdered = isOrderedItem(lines[index] ?? '')
  const belongs = (line: string) =>
    indentedPattern.test(line) ||
    (bulletPattern.test(line) && !rulePattern.test(line) && isOrderedItem(line) === isOrdered)
  return findRunEnd(lines, index, belongs)
}

/** Finds the first line after line `index` that does not continue the block. */
function findRunEnd(lines: readonly string[], index: number, continues: (line: string) => boolean): number {
  let end = index + 1
  while (end < lines.length && continues(removeLineEnd(lines[end] ?? ''))) end += 1
  return end
}

function removeLineEnd(line: string): string {
  return line.endsWith('\n') ? line.slice(0, -1) : line
}
