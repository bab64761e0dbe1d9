import type { Styles } from '../css/cascade.ts'

interface ResolvedStyles {
  readonly styles: Styles
  /** Those that the elements within inherit. */
  readonly variables: ReadonlyMap<string, string>
}

const [maxVariables, maxValue, maxDepth] = [64, 512, 4]
const use = /var\(\s*(--[\w-]{1,64})\s*(?:,([^()]{0,200}))?\)/g

/** Puts the values of custom properties where they are used (CSS Variables 1 §3). Bounded: a value may not grow. */
export function resolveVariables(declared: Styles, outer: ReadonlyMap<string, string>): ResolvedStyles {
  const own = [...declared].filter(([name]) => name.startsWith('--'))
  const variables = own.length === 0 ? outer : new Map([...outer, ...own].slice(-maxVariables))
  const uses = [...declared].filter(([, value]) => value.includes('var('))
  if (uses.length === 0) return { styles: declared, variables }
  return {
    styles: new Map([...declared, ...uses.map(([name, value]) => [name, resolve(value, variables)] as const)]),
    variables,
  }
}

function resolve(value: string, variables: ReadonlyMap<string, string>): string {
  let text = value.slice(0, maxValue)
  for (let depth = 0; depth < maxDepth && text.includes('var('); depth += 1) {
    text = text
      .replace(use, (_, name: string, fallback = '') => variables.get(name) ?? fallback.trim())
      .slice(0, maxValue)
  }
  return text
}
