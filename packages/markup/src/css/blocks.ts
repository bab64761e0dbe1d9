// Reads the rules and declarations of CSS as browsers do (CSS Syntax 3 §5.4).
import { tokenTypes as types } from 'css-tree/tokenizer'
import type { CssTokens } from './tokens.ts'
import { isSpace, tokenizeCss, writePlain } from './tokens.ts'

/** One declaration of a style attribute or a rule. Names and values are in lower case, without comments and escapes. */
export interface Declaration {
  readonly name: string
  readonly value: string
  readonly isImportant: boolean
}

/** A rule whose selectors include those of the enclosing rules. */
interface CssRule {
  readonly selectors: string
  readonly declarations: readonly Declaration[]
}

const [maxDeclarations, maxNameChars, maxValueChars, maxPreludeChars, maxDepth] = [128, 64, 2048, 4096, 16]

/** The choice of the declarations and rules that the reader returns. */
export interface RuleChoice {
  /** Returns true if the reader returns a declaration. */
  isRelevant(declaration: Declaration): boolean
  /** Returns true if a group such as `@media print` applies, so that the reader returns its rules. */
  appliesTo(prelude: string): boolean
  readonly maxRules: number
}

interface BlockReader extends RuleChoice {
  readonly css: CssTokens
  readonly rules: CssRule[]
}

/** A range of tokens that contains declarations of an element, rules, or both. */
interface Block {
  readonly from: number
  readonly to: number
  /** The selectors to which the declarations belong. Undefined outside all rules. */
  readonly selectors: string | undefined
  /** The number of enclosing blocks. */
  readonly depth: number
}

/** Reads declarations such as `a: b; c: d !important`. */
export function parseDeclarations(text: string, isRelevant: RuleChoice['isRelevant']): readonly Declaration[] {
  const css = tokenizeCss(text)
  const reader: BlockReader = { css, rules: [], isRelevant, appliesTo: () => false, maxRules: 1 }
  // A style attribute contains no rules.
  const block = { from: 0, to: css.tokens.length, selectors: '*', depth: maxDepth }
  return readBlock(reader, block)
}

/** Reads the rules of a style sheet that have relevant declarations, in order. */
export function parseRules(text: string, choice: RuleChoice): readonly CssRule[] {
  const css = tokenizeCss(text)
  const rules: CssRule[] = []
  readBlock({ ...choice, css, rules }, { from: 0, to: css.tokens.length, selectors: undefined, depth: 0 })
  return rules
}

/** Reads a block and returns its own declarations. */
function readBlock(reader: BlockReader, block: Block): readonly Declaration[] {
  const { css, rules, maxRules } = reader
  const declarations: Declaration[] = []
  for (let position = block.from; position < block.to && rules.length < maxRules; ) {
    const token = css.tokens[position]
    const isSkipped = !token || isSpace(token) || isSkippable(token.type, block)
    position = isSkipped ? position + 1 : readItem(reader, position, block, declarations)
  }
  return declarations
}

/** Returns true for a token that is skipped: an empty declaration, or a mark of an HTML comment around the content of a sheet. */
function isSkippable(type: number, block: Block): boolean {
  return isSheet(block) ? type === types.CDO || type === types.CDC : type === types.Semicolon
}

function isSheet({ depth }: Block): boolean {
  return depth === 0
}

/** Reads an at-rule, a declaration or a rule, and returns the index after it. */
function readItem(reader: BlockReader, position: number, block: Block, declarations: Declaration[]): number {
  if (reader.css.tokens[position]?.type === types.AtKeyword) return readAtRule(reader, position, block)
  const parsedDeclaration = block.selectors === undefined ? undefined : readDeclaration(reader.css, position, block.to)
  if (!parsedDeclaration) return readRule(reader, position, block)
  if (declarations.length < maxDeclarations && reader.isRelevant(parsedDeclaration.declaration))
    declarations.push(parsedDeclaration.declaration)
  return parsedDeclaration.next
}

/** Reads a declaration. Returns undefined for anything else, such as a nested rule. */
function readDeclaration(css: CssTokens, from: number, to: number) {
  const { tokens } = css
  const colon = skipSpaces(css, from + 1, to)
  if (tokens[from]?.type !== types.Ident || tokens[colon]?.type !== types.Colon) return undefined
  const name = writePlain(css, from, from + 1).slice(0, maxNameChars)
  const start = skipSpaces(css, colon + 1, to)
  let position = start
  while (position < to && tokens[position]?.type !== types.Semicolon) {
    // Other tokens before or after a block in braces make it a rule. Reading on to a semicolon would take quadratic time.
    if (!name.startsWith('--') && isRuleStart(css, { start, position, to })) return undefined
    position = nextPositionOf(css, position, to)
  }
  return { declaration: toDeclaration(name, writePlain(css, start, position)), next: position + 1 }
}

function isRuleStart(
  css: CssTokens,
  { start, position: at, to }: { start: number; position: number; to: number },
): boolean {
  if (css.tokens[at]?.type !== types.LeftCurlyBracket) return false
  const nextPosition = skipSpaces(css, nextPositionOf(css, at, to), to)
  return at > start || (nextPosition < to && css.tokens[nextPosition]?.type !== types.Semicolon)
}

function toDeclaration(name: string, text: string): Declaration {
  const value = text.slice(0, maxValueChars)
  const bang = value.lastIndexOf('!')
  const isImportant = bang >= 0 && value.slice(bang + 1).trim() === 'important'
  return { name, value: isImportant ? value.slice(0, bang).trim() : value, isImportant }
}

function skipSpaces({ tokens }: CssTokens, from: number, to: number): number {
  let position = from
  for (let token = tokens[position]; token && position < to && isSpace(token); token = tokens[position]) position += 1
  return position
}

function nextPositionOf({ tokens }: CssTokens, position: number, to: number): number {
  return Math.min(tokens[position]?.nextIndex ?? to, to)
}

/** Finds the braces of a rule, and the index after the rule. If `endsAtSemicolon` is true, a semicolon ends a construct without braces. */
function findBraces(
  css: CssTokens,
  from: number,
  { to, endsAtSemicolon }: { readonly to: number; readonly endsAtSemicolon: boolean },
) {
  let open = from
  while (open < to && css.tokens[open]?.type !== types.LeftCurlyBracket) {
    if (endsAtSemicolon && css.tokens[open]?.type === types.Semicolon) return { open, next: open + 1, inner: undefined }
    open = nextPositionOf(css, open, to)
  }
  if (open >= to) return { open, next: to, inner: undefined }
  const next = nextPositionOf(css, open, to)
  const isClosed = next - 1 > open && css.tokens[next - 1]?.type === types.RightCurlyBracket
  return { open, next, inner: { from: open + 1, to: isClosed ? next - 1 : next } }
}

/** Reads a rule with its nested rules, and returns the index after it. Its own declarations precede those of nested rules. */
function readRule(reader: BlockReader, from: number, block: Block): number {
  const { css, rules } = reader
  const { open, next, inner } = findBraces(css, from, { to: block.to, endsAtSemicolon: !isSheet(block) })
  const selectors = inner && block.depth < maxDepth && writeSelectors(css, { from, to: open }, block.selectors)
  if (!inner || !selectors) return next
  const index = rules.length
  const declarations = readBlock(reader, { ...inner, selectors, depth: block.depth + 1 })
  if (declarations.length > 0) rules.splice(index, 0, { selectors, declarations })
  return next
}

/**
 * Writes selectors with `:is(…)` in place of `&`, for the selectors of the enclosing rule (CSS Nesting 1 §3). Returns an empty string for
 * selectors that are too long.
 */
function writeSelectors(
  { text, tokens }: CssTokens,
  { from, to }: Pick<Block, 'from' | 'to'>,
  parentSelectors: string | undefined,
): string {
  let selectorText = ''
  let isRelative = parentSelectors !== undefined
  for (const { type, start, end } of tokens.slice(from, to)) {
    const isNestingSelector = type === types.Delim && text[start] === '&'
    if (isNestingSelector) isRelative = false
    if (isNestingSelector) selectorText += parentSelectors === undefined ? ':root' : `:is(${parentSelectors})`
    else if (type !== types.Comment) selectorText += text.slice(start, end)
    if (selectorText.length > maxPreludeChars) return ''
  }
  const trimmedSelectors = selectorText.trim()
  return isRelative && trimmedSelectors ? `:is(${parentSelectors}) ${trimmedSelectors}` : trimmedSelectors
}

/** Reads an at-rule and returns the index after it. The content counts if the at-rule is a group that applies. */
function readAtRule(reader: BlockReader, from: number, block: Block): number {
  const { css, rules } = reader
  const { open, next, inner } = findBraces(css, from, { to: block.to, endsAtSemicolon: true })
  const prelude = inner && writePlain(css, from, Math.min(open, from + maxPreludeChars))
  if (!inner || block.depth >= maxDepth || !reader.appliesTo(prelude ?? '')) return next
  const declarations = readBlock(reader, { ...block, ...inner, depth: block.depth + 1 })
  if (declarations.length > 0 && block.selectors !== undefined) rules.push({ selectors: block.selectors, declarations })
  return next
}
