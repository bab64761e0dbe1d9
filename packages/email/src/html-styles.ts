import { classNames, hidesInColour, hidingDeclarations } from './html-elements.ts'

/** What the style sheets of an HTML body hide by a class or an id. */
export interface HiddenNames {
  readonly classes: ReadonlySet<string>
  readonly ids: ReadonlySet<string>
}

/** Sheets are read up to here, all together; a rule has a few hundred characters. */
const [maxSheets, maxBlock] = [256 * 1024, 4096]

const nobody: HiddenNames = { classes: new Set(), ids: new Set() }

/**
 * Reads the `style` elements once, without a parser: rules outside of `@media` for one class or id. What
 * is hidden on small screens only is not hidden.
 */
export function readHiddenNames(html: string): HiddenNames {
  const names = [...listSheets(html)].flatMap(sheet => [...listRules(sheet)].filter(hidesText).flatMap(listNames))
  if (names.length === 0) return nobody
  const namesOf = (mark: string) => new Set(names.filter(name => name.startsWith(mark)).map(name => name.slice(1)))
  return { classes: namesOf('.'), ids: namesOf('#') }
}

function hidesText({ declarations }: Rule): boolean {
  return hidingDeclarations.test(declarations) || hidesInColour(`style="${declarations}"`)
}

/** With their marks. */
function listNames({ selectors }: Rule): string[] {
  return selectors.split(',').flatMap(selector => namesOne.exec(selector.trim())?.[1] ?? [])
}

/** A selector that ends in `.name` or `#name` and asks for no other name: what is hidden only beside or within another may well be seen. */
const namesOne = /^[a-z0-9\s>+~*]*([.#][\w-]{1,100})$/i

/** Does a style sheet hide this element? */
export function hidesByName(tag: string, { classes, ids }: HiddenNames): boolean {
  if (classes.size > 0) {
    const names = classNames.exec(tag)
    if ((names?.[1] ?? names?.[2] ?? names?.[3] ?? '').split(/\s+/).some(name => classes.has(name))) return true
  }
  const id = ids.size > 0 ? /\sid\s*=\s*["']?([\w-]+)/i.exec(tag)?.[1] : undefined
  return id !== undefined && ids.has(id)
}

/** What stands in a comment is for other programs. */
function* listSheets(html: string): Generator<string> {
  let room = maxSheets
  const opening = /<!--|<style(?=[\s>])/gi
  for (let found = opening.exec(html); found && room > 0; found = opening.exec(html)) {
    const isComment = found[0] === '<!--'
    const start = isComment ? found.index : html.indexOf('>', found.index)
    const end = html.indexOf(isComment ? '-->' : '</', start)
    if (start < 0 || end < 0) return
    opening.lastIndex = end
    if (isComment) continue
    const sheet = html.slice(start + 1, Math.min(end, start + room))
    room -= sheet.length
    yield withoutComments(sheet)
  }
}

function withoutComments(sheet: string): string {
  const pieces = sheet.split('/*')
  return pieces.map((piece, index) => (index === 0 ? piece : afterComment(piece))).join('')
}

function afterComment(piece: string): string {
  const end = piece.indexOf('*/')
  return end < 0 ? '' : piece.slice(end + 2)
}

interface Rule {
  readonly selectors: string
  readonly declarations: string
}

/** The rules at the top of a sheet, in one pass; a block that begins with `@` is passed over with all that is in it. */
function* listRules(sheet: string): Generator<Rule> {
  for (const { start, open, end } of listBlocks(sheet)) {
    // Before it may stand `@import …;`.
    const selectors = sheet.slice(start, open).split(';').at(-1)?.trim() ?? ''
    if (!selectors.startsWith('@')) yield { selectors, declarations: sheet.slice(open + 1, end) }
  }
}

interface StyleBlock {
  readonly start: number
  readonly open: number
  readonly end: number
}

function* listBlocks(sheet: string): Generator<StyleBlock> {
  let [depth, start, open] = [0, 0, 0]
  for (const { 0: mark, index } of sheet.matchAll(/[{}]/g)) {
    if (mark === '{' && depth === 0) open = index
    depth = Math.max(depth + (mark === '{' ? 1 : -1), 0)
    if (mark === '{' || depth > 0) continue
    if (index - start <= maxBlock) yield { start, open, end: index }
    start = index + 1
  }
}
