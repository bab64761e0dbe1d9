import type { Declaration } from './declarations.ts'
import type { MatchBudget, StyledElement } from './selectors.ts'
import { matchSelector } from './selectors.ts'
import { expandShorthand } from './shorthands.ts'
import type { StyleRule } from './style-sheet.ts'

/** The winning value of each property that is declared for an element. */
export type Styles = ReadonlyMap<string, string>

interface CascadedStyles {
  readonly sure: Styles
  /** With what a rule declares that may hold for it; absent where there is none. */
  readonly possible?: Styles
}

/** What is left of it is shared by all elements of a document. */
const maxSteps = 500_000
/** Heavier than any selector. */
const [inlineWeight, importantWeight] = [1e7, 1e8]

/** What an element says of itself: by its kind and its attributes, and by its `style`. */
interface ElementStyles {
  readonly own: readonly Declaration[]
  readonly inline: readonly Declaration[]
}

/** Finds what style sheets declare for elements. */
interface Cascade {
  stylesOf(element: StyledElement, styles: ElementStyles): CascadedStyles
  /** True when the sheets cost more than is allowed: what they hide is not known any more. */
  isExhausted(): boolean
}

export function createCascade(rules: readonly StyleRule[]): Cascade {
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
    stylesOf(element, { own, inline }) {
      const found = byKey.size > 0 && budget.steps > 0 ? listMatches(element) : []
      const weighed = (isSureOnly: boolean) => [
        { declarations: own, weight: -1 },
        ...found.filter(({ isSure }) => isSure || !isSureOnly).map(({ rule }) => weighRule(rule)),
        { declarations: inline, weight: inlineWeight },
      ]
      const sure = pickWinners(weighed(true))
      return found.every(({ isSure }) => isSure) ? { sure } : { sure, possible: pickWinners(weighed(false)) }
    },
    isExhausted: () => budget.steps <= 0,
  }
}

interface Weighed {
  readonly declarations: readonly Declaration[]
  readonly weight: number
}

/** Of equal ones the later wins: a fraction that never reaches the next specificity. */
function weighRule({ declarations, selector, order }: StyleRule): Weighed {
  return { declarations, weight: Math.min(selector.specificity, inlineWeight - 2) + order / 10_000 }
}

/** CSS Cascade 5 §6. */
function pickWinners(sources: readonly Weighed[]): Styles {
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
