// Renders the figures of the gateway for Prometheus.
import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { OperatorStore, StoreCounts, WorkStore } from '@postern/pipeline'
import type { StageHistogram, StageMeter } from './telemetry/stage-meter.ts'
import { stageBounds } from './telemetry/stage-meter.ts'
import type { TokenCount, TokenMeter } from './token-meter.ts'

export interface Metrics {
  /** Returns the figures in the Prometheus text format 0.0.4. */
  render(): Promise<string>
  close(): void
}

/** The time span of the delay figures, ms. The span is fixed, so that one reader does not change the figures of the next reader. */
const delaySpanMs = 30_000

type Sample = readonly [labels: string, value: number]

interface MetricSources {
  readonly meter: Pick<TokenMeter, 'list' | 'listSubtotals'>
  readonly stageMeter: Pick<StageMeter, 'list'>
}

/** Collects the figures that the store and the process count. */
export function createMetrics(
  store: Pick<OperatorStore, 'count'> & Pick<WorkStore, 'findNextDueAt'>,
  { meter, stageMeter }: MetricSources,
  now: () => number,
): Metrics {
  const delayHistogram = monitorEventLoopDelay({ resolution: 20 })
  let lastDelayNs = 0
  const spanTimer = setInterval(() => {
    lastDelayNs = delayHistogram.percentile(99)
    delayHistogram.reset()
  }, delaySpanMs).unref()
  delayHistogram.enable()
  return {
    async render() {
      const [counts, nextDueAt] = await Promise.all([store.count(), store.findNextDueAt()])
      const overdueSeconds = nextDueAt === undefined ? 0 : Math.max(0, now() - nextDueAt) / 1000
      const delayNs = Math.max(lastDelayNs, delayHistogram.percentile(99))
      return [
        ...listStoreMetrics(counts).map(formatMetric),
        ...listTokenMetrics(meter).map(formatMetric),
        formatHistograms(stageMeter.list()),
        ...listRefusalMetrics(counts).map(formatMetric),
        ...listProcessMetrics({ overdueSeconds, delayNs }).map(formatMetric),
      ].join('')
    },
    close() {
      clearInterval(spanTimer)
      delayHistogram.disable()
    },
  }
}

function listStoreMetrics({ messages, deliveries, stopped }: StoreCounts): readonly Metric[] {
  return [
    {
      name: 'postern_messages',
      help: 'Messages stored, by state.',
      type: 'gauge',
      samples: listSamples('state', messages),
    },
    {
      name: 'postern_deliveries',
      help: 'Deliveries, by state.',
      type: 'gauge',
      samples: listSamples('state', deliveries),
    },
    {
      name: 'postern_stopped_total',
      help: 'Messages that loop protection has stopped, by flag.',
      type: 'counter',
      samples: listSamples('flag', stopped),
    },
  ]
}

function listTokenMetrics(meter: MetricSources['meter']): readonly Metric[] {
  return [
    {
      name: 'postern_tokens_total',
      help: 'Tokens that agents report as spent, by agent, model and kind.',
      type: 'counter',
      samples: listTokenSamples(meter.list()),
    },
    {
      name: 'postern_tokens_part_total',
      help: 'Tokens read from or written to a cache, and tokens of reasoning, among those of postern_tokens_total.',
      type: 'counter',
      samples: listTokenSamples(meter.listSubtotals()),
    },
  ]
}

function listRefusalMetrics({ refusals, refused }: StoreCounts): readonly Metric[] {
  const samples = refused.map(({ via, code, count }): Sample => {
    return [`{channel="${escapeLabel(via)}",code="${code}"}`, count]
  })
  return [
    {
      name: 'postern_refusals',
      help: 'Refusals of all kinds, listed or not.',
      type: 'gauge',
      samples: [['', refusals]],
    },
    {
      name: 'postern_refusals_total',
      help: 'Refusals by channel and code, listed or not.',
      type: 'counter',
      samples,
    },
  ]
}

interface ProcessFigures {
  readonly overdueSeconds: number
  /** The delay of the event loop, ns. */
  readonly delayNs: number
}

function listProcessMetrics({ overdueSeconds, delayNs }: ProcessFigures): readonly Metric[] {
  return [
    {
      name: 'postern_work_overdue_seconds',
      help: 'Age of the oldest due work that no worker has taken.',
      type: 'gauge',
      samples: [['', overdueSeconds]],
    },
    {
      name: 'postern_event_loop_delay_seconds',
      help: 'Delay of the event loop: the worse 99th percentile of the last half minute and the current one.',
      type: 'gauge',
      samples: [['', delayNs / 1e9]],
    },
    {
      name: 'process_resident_memory_bytes',
      help: 'Resident memory.',
      type: 'gauge',
      samples: [['', process.memoryUsage.rss()]],
    },
  ]
}

function listSamples(label: string, counts: Readonly<Record<string, number>>): Sample[] {
  return Object.entries(counts).map(([name, value]) => [`{${label}="${name}"}`, value])
}

function listTokenSamples(counts: readonly TokenCount[]): Sample[] {
  return counts.map(({ labels, tokens }) => {
    const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escapeLabel(value)}"`)
    return [`{${pairs.join(',')}}`, tokens]
  })
}

function escapeLabel(value: string): string {
  return value.replace(/[\\"]/g, '\\$&').replaceAll('\n', '\\n')
}

interface Metric {
  readonly name: string
  readonly help: string
  readonly type: 'gauge' | 'counter'
  readonly samples: readonly Sample[]
}

function formatMetric({ name, help, type, samples }: Metric): string {
  const lines = samples.map(([labels, value]) => `${name}${labels} ${value}\n`)
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join('')}`
}

/** The labels `le` of a histogram, as Prometheus writes them. */
const boundLabels = [...stageBounds.map(String), '+Inf']

function formatHistograms(histograms: readonly StageHistogram[]): string {
  const name = 'postern_stage_seconds'
  const lines = histograms.flatMap(({ stage, via, cumulativeCounts: cumulative, sum }) => {
    const labels = `stage="${stage}",channel="${via}"`
    const buckets = cumulative.map((count, index) => `${name}_bucket{${labels},le="${boundLabels[index]}"} ${count}`)
    return [...buckets, `${name}_sum{${labels}} ${sum}`, `${name}_count{${labels}} ${cumulative.at(-1)}`]
  })
  const help = 'Seconds that stages of messages took since the start of this gateway, by stage and channel.'
  return [`# HELP ${name} ${help}`, `# TYPE ${name} histogram`, ...lines, ''].join('\n')
}
