import type { TokenUsage } from '@postern/core'

export interface TokenCount {
  readonly labels: Readonly<Record<string, string>>
  readonly tokens: number
}

/** What agents have spent since this process began. */
export interface TokenMeter {
  count(agent: string, usages: readonly TokenUsage[]): void
  /** What was put in and out: these make the sum. */
  list(): readonly TokenCount[]
  /** What of it was cached or thought. */
  listParts(): readonly TokenCount[]
}

const kinds = [
  ['input_tokens', 'input'],
  ['output_tokens', 'output'],
] as const
const parts = [
  ['cached_input_tokens', 'cached_input'],
  ['cache_write_input_tokens', 'cache_write_input'],
  ['reasoning_tokens', 'reasoning'],
] as const

type Member = (typeof kinds)[number][0] | (typeof parts)[number][0]

/** Agents may name models as they like: of more in one process nobody keeps track one by one. */
const maxModels = 200

export function createTokenMeter(): TokenMeter {
  const models = new Set<string>()
  const [whole, partial] = [new Map<string, TokenCount>(), new Map<string, TokenCount>()]

  function findPlace(agent: string, { provider, model = 'unnamed' }: TokenUsage): TokenCount['labels'] {
    const place = { agent, ...(provider !== undefined && { provider }), model }
    const name = JSON.stringify(place)
    if (!models.has(name) && models.size >= maxModels) return { agent, model: 'other' }
    models.add(name)
    return place
  }

  function add(counts: Map<string, TokenCount>, labels: TokenCount['labels'], tokens: number | undefined): void {
    if (tokens === undefined) return
    const name = JSON.stringify(labels)
    counts.set(name, { labels, tokens: tokens + (counts.get(name)?.tokens ?? 0) })
  }

  return {
    count(agent, usages) {
      for (const usage of usages) {
        const place = findPlace(agent, usage)
        const addAll = (counts: Map<string, TokenCount>, members: readonly (readonly [Member, string])[]) => {
          for (const [member, kind] of members) add(counts, { ...place, kind }, usage[member])
        }
        addAll(whole, kinds)
        addAll(partial, parts)
      }
    },
    list: () => [...whole.values()],
    listParts: () => [...partial.values()],
  }
}
