import type { CompiledSelector, MatchBudget, StyledElement } from './selectors.ts'
import { compileSelector, matchSelector } from './selectors.ts'
import type { Declaration } from './values.ts'
import { expandShorthand, parseDeclarations, splitOutside, toPixels, viewport, withoutComments } from './values.ts'

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

/** `holds` says of each open group whether its rules count; a block that is none of ours is passed over. */
interface SheetPlace {
  readonly holds: boolean[]
  start: number
  /** Where the body of a rule begins; -1 outside of one. */
  open: number
}

function* listRules(sheet: string) {
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

function* ruleOf(sheet: string, { holds, start, open }: SheetPlace, end: number) {
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

/** The winning value of each property that is declared for an element. */
export type Styles = ReadonlyMap<string, string>

/** What is left of it is shared by all elements of a document. */
const maxSteps = 500_000
/** Heavier than any selector. */
const [inlineWeight, importantWeight] = [1e7, 1e8]

/** What an element says of itself: by its kind and its attributes, and by its `style`. */
type ElementStyles = Readonly<Record<'own' | 'inline', readonly Declaration[]>>

/** Finds what style sheets declare for elements. */
export function createCascade(rules: readonly StyleRule[]) {
  const byKey = Map.groupBy(rules, rule => rule.selector.key)
  const budget: MatchBudget = { steps: maxSteps }

  function listMatches(element: StyledElement) {
    const keys = ['*', element.name, ...[...element.classes].map(name => `.${name}`), `#${element.id ?? ''}`]
    return keys
      .flatMap(key => byKey.get(key) ?? [])
      .flatMap(rule => {
        if (budget.steps <= 0) return []
        budget.steps -= rule.declarations.length
        const match = matchSelector(rule.selector, element, budget)
        return match === 'no' ? [] : [{ rule, isSure: match === 'yes' }]
      })
  }

  return {
    /** `possible`: with what a rule declares that may hold for it; absent where there is none. */
    stylesOf(element: StyledElement, { own, inline }: ElementStyles) {
      const found = byKey.size > 0 && budget.steps > 0 ? listMatches(element) : []
      const weighed = (isSureOnly: boolean) => [
        { declarations: own, weight: -1 },
        ...found.filter(({ isSure }) => isSure || !isSureOnly).map(({ rule }) => weighRule(rule)),
        { declarations: inline, weight: inlineWeight },
      ]
      const sure = pickWinners(weighed(true))
      return found.every(({ isSure }) => isSure) ? { sure } : { sure, possible: pickWinners(weighed(false)) }
    },
    /** True when the sheets cost more than is allowed: what they hide is not known any more. */
    isExhausted: () => budget.steps <= 0,
  }
}

/** Of equal ones the later wins: a fraction that never reaches the next specificity. */
function weighRule({ declarations, selector, order }: StyleRule) {
  return { declarations, weight: Math.min(selector.specificity, inlineWeight - 2) + order / 10_000 }
}

/** CSS Cascade 5 §6. */
function pickWinners(sources: readonly ReturnType<typeof weighRule>[]): Styles {
  const weights = new Map<string, number>()
  const winners = new Map<string, string>()
  for (const { declarations, weight } of sources) {
    for (const { name, value, isImportant } of declarations) {
      const total = weight + (isImportant ? importantWeight : 0)
      for (const [property, part] of expandShorthand(name, value)) {
        if (total < (weights.get(property) ?? Number.NEGATIVE_INFINITY)) continue
        weights.set(property, total)
        winners.set(property, part)
      }
    }
  }
  return winners
}

/** Does a media query list hold on a screen of ordinary size, in light colours? What is not known does not. */
export function matchesMedia(query: string): boolean {
  const text = query.trim().toLowerCase()
  return text === '' || text.slice(0, 2048).split(',').some(matchesQuery)
}

function matchesQuery(query: string): boolean {
  const conditions = query.trim().split(/\s+and\s+/)
  return conditions.length > 0 && conditions.every(matchesCondition)
}

function matchesCondition(condition: string): boolean {
  const text = condition.trim().replace(/^only\s+/, '')
  const [, name = '', value = ''] = /^\(\s*([a-z-]+)\s*(?::\s*([^()]*?)\s*)?\)$/.exec(text) ?? []
  return name ? matchesFeature(name, value) : text === 'all' || text === 'screen'
}

function matchesFeature(name: string, value: string): boolean {
  const size = name.endsWith('height') ? viewport.height : viewport.width
  const bound = toPixels(value, { fontPx: 16, wholePx: 0 })
  if (/^min-(?:device-)?(?:width|height)$/.test(name)) return bound !== undefined && bound <= size
  if (/^max-(?:device-)?(?:width|height)$/.test(name)) return bound !== undefined && bound >= size
  return `${name}:${value}` === 'prefers-color-scheme:light' || ['color', 'width', 'height'].includes(name)
}
