// Counts the tokens that agents have spent since this process began.
import type { TokenUsage } from '@postern/message'

export interface TokenCount {
  readonly labels: Readonly<Record<string, string>>
  readonly tokens: number
}

export interface TokenMeter {
  count(agent: string, usages: readonly TokenUsage[]): void
  /** Lists the input and output tokens. Their sum is the total. */
  list(): readonly TokenCount[]
  /** Lists the cached and the reasoning tokens, which the totals of `list()` include. */
  listSubtotals(): readonly TokenCount[]
}

const totalKinds = [
  ['input_tokens', 'input'],
  ['output_tokens', 'output'],
] as const

const subtotalKinds = [
  ['cached_input_tokens', 'cached_input'],
  ['cache_write_input_tokens', 'cache_write_input'],
  ['reasoning_tokens', 'reasoning'],
] as const

type UsageMember = (typeof totalKinds)[number][0] | (typeof subtotalKinds)[number][0]

/** The maximum number of counted models, because agents choose the names. Tokens of further models are counted together as `other`. */
const maxModels = 200

/** Creates a meter that starts at zero. */
export function createTokenMeter(): TokenMeter {
  const models = new Set<string>()
  const [totals, subtotals] = [new Map<string, TokenCount>(), new Map<string, TokenCount>()]

  function chooseLabels(agent: string, { provider, model = 'unnamed' }: TokenUsage): TokenCount['labels'] {
    const labels = { agent, ...(provider !== undefined && { provider }), model }
    const labelKey = JSON.stringify(labels)
    if (!models.has(labelKey) && models.size >= maxModels) return { agent, model: 'other' }
    models.add(labelKey)
    return labels
  }

  function addTokens(counts: Map<string, TokenCount>, labels: TokenCount['labels'], tokens: number | undefined): void {
    if (tokens === undefined) return
    const labelKey = JSON.stringify(labels)
    counts.set(labelKey, { labels, tokens: tokens + (counts.get(labelKey)?.tokens ?? 0) })
  }

  return {
    count(agent, usages) {
      for (const usage of usages) {
        const labels = chooseLabels(agent, usage)
        const addKinds = (counts: Map<string, TokenCount>, members: readonly (readonly [UsageMember, string])[]) => {
          for (const [member, kind] of members) addTokens(counts, { ...labels, kind }, usage[member])
        }
        addKinds(totals, totalKinds)
        addKinds(subtotals, subtotalKinds)
      }
    },
    list: () => [...totals.values()],
    listSubtotals: () => [...subtotals.values()],
  }
}
