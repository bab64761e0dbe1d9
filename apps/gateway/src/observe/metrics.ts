import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { OperatorStore, TokenUsage, WorkStore } from '@postern/core'
import type { StageHistogram, StageMeter } from './telemetry/observe-store.ts'
import { stageBounds } from './telemetry/observe-store.ts'

export interface Metrics {
  /** Prometheus text format 0.0.4. */
  render(): Promise<string>
  close(): void
}

/** A fixed span, so that whoever reads, and how often, changes nothing for the next reader. */
const delaySpanMs = 30_000

type Sample = readonly [labels: string, value: number]

interface MetricSources {
  readonly meter: Pick<TokenMeter, 'list' | 'listParts'>
  readonly stageMeter: Pick<StageMeter, 'list'>
}

/** What the gateway can say about itself, counted by the store or by the process. */
export function createMetrics(
  store: Pick<OperatorStore, 'count'> & Pick<WorkStore, 'nextDue'>,
  { meter, stageMeter }: MetricSources,
  now: () => number,
): Metrics {
  const delay = monitorEventLoopDelay({ resolution: 20 })
  let lastSpan = 0
  const turnSpan = setInterval(() => {
    lastSpan = delay.percentile(99)
    delay.reset()
  }, delaySpanMs).unref()
  delay.enable()
  return {
    async render() {
      const [{ messages, deliveries, refusals, stopped }, due] = await Promise.all([store.count(), store.nextDue()])
      const overdue = due === undefined ? 0 : Math.max(0, now() - due) / 1000
      const text = [
        formatMetric('postern_messages', 'Messages stored, by state.', 'gauge', byLabel('state', messages)),
        formatMetric('postern_deliveries', 'Deliveries, by state.', 'gauge', byLabel('state', deliveries)),
        formatMetric(
          'postern_stopped_total',
          'Messages that guards against loops have kept back, by flag.',
          'counter',
          byLabel('flag', stopped),
        ),
        formatMetric(
          'postern_tokens_total',
          'Tokens that agents have spent, as far as they tell, by agent, model and kind.',
          'counter',
          byLabels(meter.list()),
        ),
        formatMetric(
          'postern_tokens_part_total',
          'Of these tokens, those of a cache, and those for thinking.',
          'counter',
          byLabels(meter.listParts()),
        ),
        formatHistograms(stageMeter.list()),
        formatMetric('postern_refusals', 'Refusals remembered.', 'gauge', [['', refusals]]),
        formatMetric('postern_work_overdue_seconds', 'Age of the oldest work that nobody has taken up.', 'gauge', [
          ['', overdue],
        ]),
        formatMetric(
          'postern_event_loop_delay_seconds',
          'Delay of the event loop, 99th percentile of the last half minute or of the one that runs, the worse of them.',
          'gauge',
          [['', Math.max(lastSpan, delay.percentile(99)) / 1e9]],
        ),
        formatMetric('process_resident_memory_bytes', 'Resident memory.', 'gauge', [['', process.memoryUsage.rss()]]),
      ].join('')
      return text
    },
    close() {
      clearInterval(turnSpan)
      delay.disable()
    },
  }
}

function byLabel(label: string, counts: Readonly<Record<string, number>>): Sample[] {
  return Object.entries(counts).map(([name, value]) => [`{${label}="${name}"}`, value])
}

function byLabels(counts: readonly TokenCount[]): Sample[] {
  return counts.map(({ labels, tokens }) => {
    const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escapeLabel(value)}"`)
    return [`{${pairs.join(',')}}`, tokens]
  })
}

function escapeLabel(value: string): string {
  return value.replace(/[\\"]/g, '\\$&').replaceAll('\n', '\\n')
}

function formatMetric(name: string, help: string, type: 'gauge' | 'counter', samples: readonly Sample[]): string {
  const lines = samples.map(([labels, value]) => `${name}${labels} ${value}\n`)
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join('')}`
}

/** Labels `le` as Prometheus writes them. */
const bounds = [...stageBounds.map(String), '+Inf']

function formatHistograms(histograms: readonly StageHistogram[]): string {
  const name = 'postern_stage_seconds'
  const lines = histograms.flatMap(({ stage, via, cumulative, sum }) => {
    const labels = `stage="${stage}",channel="${via}"`
    const buckets = cumulative.map((count, index) => `${name}_bucket{${labels},le="${bounds[index]}"} ${count}`)
    return [...buckets, `${name}_sum{${labels}} ${sum}`, `${name}_count{${labels}} ${cumulative.at(-1)}`]
  })
  const help = 'Seconds that stages of messages took since the start of this gateway, by stage and channel.'
  return [`# HELP ${name} ${help}`, `# TYPE ${name} histogram`, ...lines, ''].join('\n')
}

interface TokenCount {
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
