// Compiles CSS selectors and matches them against elements, within a fixed budget of steps.
import type { Selector } from 'css-what'
import { parse } from 'css-what'

/** An element with the properties that selectors test. */
export interface StyledElement {
  readonly name: string
  readonly id: string | undefined
  readonly classes: ReadonlySet<string>
  readonly attributes: ReadonlyMap<string, string>
  readonly parent: StyledElement | undefined
  /** The preceding element in the same parent. */
  readonly precedingElement: StyledElement | undefined
  /** The position among the children of the parent, from 1. */
  readonly index: number
}

/** The result of a match. `maybe` means that the result depends on later elements or on facts that are unknown here. */
type Match = 'yes' | 'maybe' | 'no'

type Combinator = 'descendant' | 'child' | 'adjacent' | 'sibling'

interface Step {
  readonly tests: readonly Selector[]
  /** The relation to the step on the left. Undefined for the leftmost step. */
  readonly combinator: Combinator | undefined
}

export interface CompiledSelector {
  /** The steps from right to left. */
  readonly steps: readonly Step[]
  /** The specificity (Selectors 4 §17) as one number. */
  readonly specificity: number
  /** The feature that the element itself must have: `#id`, `.class`, `name` or `*`. */
  readonly key: string
}

/** The remaining budget, which limits the total cost of a hostile sheet. */
export interface MatchBudget {
  remainingSteps: number
}

const [maxSelectorChars, maxSteps] = [4096, 12]
const combinators: ReadonlySet<string> = new Set(['descendant', 'child', 'adjacent', 'sibling'])

/** Compiles a list of selectors. Returns an empty list if one of them is invalid, because browsers then drop the whole list. */
export function compileSelectors(text: string): CompiledSelector[] {
  const selectorList = text.trim()
  if (!selectorList || selectorList.length > maxSelectorChars) return []
  try {
    return parse(selectorList).flatMap(compileTokens)
  } catch {
    return []
  }
}

function compileTokens(tokens: readonly Selector[]): CompiledSelector[] {
  const steps: { tests: Selector[]; combinator: Combinator | undefined }[] = [{ tests: [], combinator: undefined }]
  for (const token of tokens) {
    const lastStep = steps.at(-1)
    if (token.type === 'parent' || token.type === 'column-combinator' || token.type === 'pseudo-element') return []
    if (combinators.has(token.type)) steps.push({ tests: [], combinator: token.type as Combinator })
    else lastStep?.tests.push(token)
  }
  if (steps.length > maxSteps) return []
  const tests = steps.flatMap(step => step.tests)
  return [{ steps: steps.reverse(), specificity: sumWeights(tests), key: findKey(steps[0]?.tests ?? []) }]
}

function sumWeights(tests: readonly Selector[]): number {
  return tests.reduce((sum, test) => sum + weigh(test), 0)
}

function weigh(test: Selector): number {
  if (test.type === 'tag') return 1
  if (test.type === 'attribute') return isIdTest(test) ? 10_000 : 100
  if (test.type !== 'pseudo' || test.name === 'where') return 0
  return Array.isArray(test.data) ? Math.max(0, ...test.data.map(sumWeights)) : 100
}

function isIdTest(test: Selector): boolean {
  return test.type === 'attribute' && test.name === 'id' && test.action === 'equals'
}

function findKey(tests: readonly Selector[]): string {
  const id = tests.find(isIdTest)
  if (id?.type === 'attribute') return `#${id.value}`
  const classTest = tests.find(test => test.type === 'attribute' && test.name === 'class' && test.action === 'element')
  if (classTest?.type === 'attribute') return `.${classTest.value}`
  const tag = tests.find(test => test.type === 'tag')
  return tag?.type === 'tag' ? tag.name.toLowerCase() : '*'
}

/** Matches the selector against an element. The cost never exceeds the remaining budget, and the result beyond the budget is `maybe`. */
export function matchSelector({ steps }: CompiledSelector, element: StyledElement, budget: MatchBudget): Match {
  return matchFrom(steps, 0, element, budget)
}

function matchFrom(steps: readonly Step[], stepIndex: number, element: StyledElement, budget: MatchBudget): Match {
  budget.remainingSteps -= 1
  if (budget.remainingSteps <= 0) return 'maybe'
  const ownMatch = matchTests(steps[stepIndex]?.tests ?? [], element)
  const combinator = steps[stepIndex]?.combinator
  if (ownMatch === 'no' || !combinator) return ownMatch
  let bestMatch: Match = 'no'
  for (const relatedElement of listRelatedElements(element, combinator)) {
    bestMatch = betterMatch(bestMatch, matchFrom(steps, stepIndex + 1, relatedElement, budget))
    if (bestMatch === 'yes' || budget.remainingSteps <= 0) break
  }
  return worseMatch(ownMatch, bestMatch)
}

function* listRelatedElements(element: StyledElement, combinator: Combinator): Generator<StyledElement> {
  const goesToParents = combinator === 'child' || combinator === 'descendant'
  const findNext = (from: StyledElement) => (goesToParents ? from.parent : from.precedingElement)
  const isSingle = combinator === 'child' || combinator === 'adjacent'
  for (let relative = findNext(element); relative; relative = findNext(relative)) {
    yield relative
    if (isSingle) return
  }
}

const rankOfMatch: Readonly<Record<Match, number>> = { no: 0, maybe: 1, yes: 2 }
const betterMatch = (a: Match, b: Match): Match => (rankOfMatch[a] >= rankOfMatch[b] ? a : b)
const worseMatch = (a: Match, b: Match): Match => (rankOfMatch[a] <= rankOfMatch[b] ? a : b)
const oppositeMatches: Readonly<Record<Match, Match>> = { no: 'yes', maybe: 'maybe', yes: 'no' }

function matchTests(tests: readonly Selector[], element: StyledElement): Match {
  let result: Match = 'yes'
  for (const test of tests) {
    result = worseMatch(result, matchTest(test, element))
    if (result === 'no') return 'no'
  }
  return result
}

function matchTest(test: Selector, element: StyledElement): Match {
  switch (test.type) {
    case 'universal':
      return 'yes'
    case 'tag':
      return toMatch(test.name.toLowerCase() === element.name)
    case 'attribute':
      return toMatch(matchesAttribute(test, element))
    case 'pseudo':
      return matchPseudo(test, element)
    default:
      return 'no'
  }
}

const toMatch = (condition: boolean): Match => (condition ? 'yes' : 'no')

function matchesAttribute(test: Extract<Selector, { type: 'attribute' }>, element: StyledElement): boolean {
  if (test.name === 'class' && test.action === 'element') return element.classes.has(test.value)
  const attribute = element.attributes.get(test.name.toLowerCase())
  if (attribute === undefined) return test.action === 'not'
  const isFolded = test.ignoreCase === true
  const [value, expectedValue] = isFolded
    ? [attribute.toLowerCase(), test.value.toLowerCase()]
    : [attribute, test.value]
  return compareValues[test.action]?.(value, expectedValue) ?? false
}

const compareValues: Readonly<Record<string, (value: string, expected: string) => boolean>> = {
  exists: () => true,
  equals: (value, expected) => value === expected,
  not: (value, expected) => value !== expected,
  start: (value, expected) => expected !== '' && value.startsWith(expected),
  end: (value, expected) => expected !== '' && value.endsWith(expected),
  any: (value, expected) => expected !== '' && value.includes(expected),
  element: (value, expected) => value.split(/\s+/).includes(expected),
  hyphen: (value, expected) => value === expected || value.startsWith(`${expected}-`),
}

/** The states that a newly opened message does not have. */
const pseudoStates: ReadonlySet<string> = new Set(
  'hover focus focus-within focus-visible active visited target checked disabled fullscreen modal popover-open before after first-line first-letter'.split(
    ' ',
  ),
)

function matchPseudo({ name, data }: Extract<Selector, { type: 'pseudo' }>, element: StyledElement): Match {
  if (Array.isArray(data)) return matchList(name, data, element)
  if (pseudoStates.has(name)) return 'no'
  if (name === 'root') return toMatch(element.name === 'html')
  if (name === 'link' || name === 'any-link') return toMatch(element.name === 'a' && element.attributes.has('href'))
  if (name === 'first-child') return toMatch(element.index === 1)
  if (name === 'nth-child') return matchesIndex(data ?? '', element.index)
  return 'maybe'
}

function matchList(name: string, list: readonly (readonly Selector[])[], element: StyledElement): Match {
  const isSimple = list.every(tokens => tokens.every(({ type }) => !combinators.has(type)))
  if (!isSimple || !['not', 'is', 'where', 'matches', 'any'].includes(name)) return 'maybe'
  const match = list.reduce<Match>((best, tokens) => betterMatch(best, matchTests(tokens, element)), 'no')
  return name === 'not' ? oppositeMatches[match] : match
}

/** Matches an index against `odd`, `even`, `3`, `2n+1`, `-n+3` (CSS Syntax 3 §6). */
function matchesIndex(text: string, index: number): Match {
  const plain = text.replace(/\s+/g, '').toLowerCase()
  const formula = plain === 'odd' ? '2n+1' : plain === 'even' ? '2n' : plain
  const [formulaMatch, step = '', offset = ''] = /^(?:([+-]?\d{0,6})n)?([+-]?\d{1,6})?$/.exec(formula) ?? []
  if (!formulaMatch) return 'maybe'
  const isStepped = formulaMatch.includes('n')
  const stepSize = isStepped ? Number(/\d/.test(step) ? step : `${step}1`) : 0
  const offsetIndex = index - Number(offset || 0)
  if (stepSize === 0) return toMatch(offsetIndex === 0)
  return toMatch(offsetIndex % stepSize === 0 && offsetIndex / stepSize >= 0)
}
