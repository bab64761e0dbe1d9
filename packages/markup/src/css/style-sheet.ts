import type { Declaration } from './declarations.ts'
import { parseDeclarations, splitOutside, withoutComments } from './declarations.ts'
import { matchesMedia } from './media.ts'
import type { CompiledSelector } from './selectors.ts'
import { compileSelector } from './selectors.ts'

/** One selector of a rule with what the rule declares. */
export interface StyleRule {
  readonly selector: CompiledSelector
  readonly declarations: readonly Declaration[]
  /** Its place among all rules. */
  readonly order: number
}

/** Sheets are read up to here, and so are the rules in them. */
const [maxRules, maxPrelude, maxBody, maxDepth] = [4000, 4096, 16_384, 4]
/** Their rules hold here too; those of others not (`@font-face`, `@keyframes`, `@container`). */
const transparentRules = /^@(?:supports|layer|document)\b/i

/** The rules of all sheets that hold on a screen of ordinary size, in one pass. `isOfInterest` names the properties that are kept. */
export function parseStyleSheets(
  sheets: readonly string[],
  isOfInterest: (property: string) => boolean,
): readonly StyleRule[] {
  const rules: StyleRule[] = []
  for (const { prelude, body } of sheets.flatMap(sheet => [...listRules(withoutComments(sheet))])) {
    if (rules.length >= maxRules) break
    const declarations = parseDeclarations(body).filter(({ name }) => isOfInterest(name))
    if (declarations.length === 0) continue
    for (const selector of splitOutside(prelude, ',').flatMap(compileSelector))
      if (rules.length < maxRules) rules.push({ selector, declarations, order: rules.length })
  }
  return rules
}

interface PlainRule {
  readonly prelude: string
  readonly body: string
}

/** `holds` says of each open group whether its rules count; a block that is none of ours is passed over. */
interface SheetPlace {
  readonly holds: boolean[]
  start: number
  /** Where the body of a rule begins; -1 outside of one. */
  open: number
}

function* listRules(sheet: string): Generator<PlainRule> {
  const place: SheetPlace = { holds: [], start: 0, open: -1 }
  for (const { 0: mark, index } of sheet.matchAll(/[{};]/g)) {
    if (place.open < 0) readOutside(sheet, { mark, index }, place)
    else if (mark === '}') {
      yield* ruleOf(sheet, place, index)
      ;[place.start, place.open] = [index + 1, -1]
    }
  }
  // Without an end it holds all the same (CSS Syntax 3 §5.4.3).
  if (place.open >= 0) yield* ruleOf(sheet, place, sheet.length)
}

function readOutside(sheet: string, { mark, index }: { mark: string; index: number }, place: SheetPlace): void {
  const prelude = sheet.slice(place.start, Math.min(index, place.start + maxPrelude)).trim()
  const isBegun = mark === '{' && isGroup(prelude) && place.holds.length < maxDepth
  if (isBegun) place.holds.push(holdsGroup(prelude))
  if (mark === '}') place.holds.pop()
  if (mark === '{' && !isBegun) place.open = index
  else place.start = index + 1
}

function* ruleOf(sheet: string, { holds, start, open }: SheetPlace, end: number): Generator<PlainRule> {
  const prelude = sheet.slice(start, open).trim()
  if (!holds.every(Boolean) || prelude.startsWith('@') || prelude.length > maxPrelude) return
  yield { prelude, body: sheet.slice(open + 1, Math.min(end, open + maxBody)) }
}

function isGroup(prelude: string): boolean {
  return (
    prelude.startsWith('@') && !/^@(?:font-face|page|counter-style|property|viewport|-ms-viewport)\b/i.test(prelude)
  )
}

function holdsGroup(prelude: string): boolean {
  if (transparentRules.test(prelude)) return true
  return /^@media\b/i.test(prelude) && matchesMedia(prelude.slice(6))
}
