// Parses CSS style sheets and resolves the cascade for one element.
import type { Declaration, RuleChoice } from './blocks.ts'
import { parseRules } from './blocks.ts'
import type { CompiledSelector, MatchBudget, StyledElement } from './selectors.ts'
import { compileSelectors, matchSelector } from './selectors.ts'
import { expandShorthand, toPixels, viewport } from './values.ts'

/** One selector of a rule with the rule's declarations. */
export interface StyleRule {
  readonly selector: CompiledSelector
  readonly declarations: readonly Declaration[]
  /** The rule's position among all rules. */
  readonly order: number
}

/** The maximum number of rules in all sheets together. */
const maxRules = 4000
/** Matches at-rules whose inner rules count. The inner rules of others, such as `@font-face` and `@container`, do not. */
const transparentRulePattern = /^@(?:supports|layer|document)\b/i

/** Parses, in one pass, the rules of all sheets that apply on a screen of ordinary size. `isRelevant` selects the declarations. */
export function parseStyleSheets(
  sheets: readonly string[],
  isRelevant: (declaration: Declaration) => boolean,
): readonly StyleRule[] {
  const rules: StyleRule[] = []
  const ruleFilter: RuleChoice = { isRelevant, appliesTo: isApplicableGroup, maxRules }
  for (const { selectors, declarations } of sheets.flatMap(sheet => parseRules(sheet, ruleFilter))) {
    for (const selector of compileSelectors(selectors)) {
      if (rules.length < maxRules) rules.push({ selector, declarations, order: rules.length })
    }
  }
  return rules
}

function isApplicableGroup(prelude: string): boolean {
  if (transparentRulePattern.test(prelude)) return true
  return /^@media\b/i.test(prelude) && matchesMedia(prelude.slice('@media'.length))
}

/** The winning value of each property that is declared for an element. */
export type Styles = ReadonlyMap<string, string>

/** The budget of matching steps, which all elements of a document share. */
const maxSteps = 500_000
/** Weights that exceed those of all selectors. */
const [inlineWeight, importantWeight] = [1e7, 1e8]

/** An element's own declarations: those of its kind and attributes, and those of its `style`. */
type OwnDeclarations = Readonly<Record<'elementDeclarations' | 'styleDeclarations', readonly Declaration[]>>

/** Creates the cascade of style sheets, which resolves the styles of one element after another. */
export function createCascade(rules: readonly StyleRule[]) {
  const rulesByKey = Map.groupBy(rules, rule => rule.selector.key)
  const budget: MatchBudget = { remainingSteps: maxSteps }

  function listMatchingRules(element: StyledElement) {
    const keys = ['*', element.name, ...[...element.classes].map(name => `.${name}`), `#${element.id ?? ''}`]
    return keys
      .flatMap(key => rulesByKey.get(key) ?? [])
      .flatMap(rule => {
        if (budget.remainingSteps <= 0) return []
        budget.remainingSteps -= rule.declarations.length
        const match = matchSelector(rule.selector, element, budget)
        return match === 'no' ? [] : [{ rule, isCertain: match === 'yes' }]
      })
  }

  return {
    /** Returns the styles of an element. `possibleStyles` also contains the declarations of rules that may apply, and is absent without such rules. */
    stylesOf(element: StyledElement, { elementDeclarations, styleDeclarations }: OwnDeclarations) {
      const matches = rulesByKey.size > 0 && budget.remainingSteps > 0 ? listMatchingRules(element) : []
      const listSources = (rules: readonly StyleRule[]) => [
        { declarations: elementDeclarations, weight: -1 },
        ...rules.map(weighRule),
        { declarations: styleDeclarations, weight: inlineWeight },
      ]
      const certainRules = matches.filter(({ isCertain }) => isCertain).map(({ rule }) => rule)
      const certainStyles = pickWinners(listSources(certainRules))
      if (certainRules.length === matches.length) return { certainStyles }
      return { certainStyles, possibleStyles: pickWinners(listSources(matches.map(({ rule }) => rule))) }
    },
    /** Returns true if the sheets exceeded the budget. Which text they hide is then unknown. */
    isExhausted: () => budget.remainingSteps <= 0,
  }
}

/** Weighs a rule. The order adds a fraction, so that the later of two rules with equal specificity wins. */
function weighRule({ declarations, selector, order }: StyleRule) {
  return { declarations, weight: Math.min(selector.specificity, inlineWeight - 2) + order / 10_000 }
}

/** Picks the winning declarations (CSS Cascade 5 §6). */
function pickWinners(sources: readonly ReturnType<typeof weighRule>[]): Styles {
  const weights = new Map<string, number>()
  const winners = new Map<string, string>()
  for (const { declarations, weight } of sources) {
    for (const { name, value, isImportant } of declarations) {
      const priority = weight + (isImportant ? importantWeight : 0)
      for (const [property, longhandValue] of expandShorthand(name, value)) {
        if (priority < (weights.get(property) ?? Number.NEGATIVE_INFINITY)) continue
        weights.set(property, priority)
        winners.set(property, longhandValue)
      }
    }
  }
  return winners
}

/** Returns true if a media query list matches a screen of ordinary size in light colours. An unknown query never matches. */
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
  const bound = toPixels(value, { fontPx: 16, percentageBasePx: 0 })
  if (/^min-(?:device-)?(?:width|height)$/.test(name)) return bound !== undefined && bound <= size
  if (/^max-(?:device-)?(?:width|height)$/.test(name)) return bound !== undefined && bound >= size
  return `${name}:${value}` === 'prefers-color-scheme:light' || ['color', 'width', 'height'].includes(name)
}
