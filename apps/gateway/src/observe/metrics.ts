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

/** The time span of the delay figures, ms. It is fixed, so that one reader does not change the figures that the next one reads. */
const delaySpanMs = 30_000

type Sample = readonly [labels: string, value: number]

interface MetricSources {
  readonly meter: Pick<TokenMeter, 'list' | 'listSubtotals'>
  readonly stageMeter: Pick<StageMeter, 'list'>
}

/** Collects the figures that the store and the process count. */
export function createMetrics(
  store: Pick<OperatorStore, 'count'> & Pick<WorkStore, 'nextDue'>,
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
      const [{ messages, deliveries, stopped, ...counts }, due] = await Promise.all([store.count(), store.nextDue()])
      const overdue = due === undefined ? 0 : Math.max(0, now() - due) / 1000
      const text = [
        formatMetric('postern_messages', 'Messages stored, by state.', 'gauge', listSamples('state', messages)),
        formatMetric('postern_deliveries', 'Deliveries, by state.', 'gauge', listSamples('state', deliveries)),
        formatMetric(
          'postern_stopped_total',
          'Messages that loop protection has stopped, by flag.',
          'counter',
          listSamples('flag', stopped),
        ),
        formatMetric(
          'postern_tokens_total',
          'Tokens that agents report as spent, by agent, model and kind.',
          'counter',
          listTokenSamples(meter.list()),
        ),
        formatMetric(
          'postern_tokens_part_total',
          'Tokens read from or written to a cache, and tokens of reasoning, among those of postern_tokens_total.',
          'counter',
          listTokenSamples(meter.listSubtotals()),
        ),
        formatHistograms(stageMeter.list()),
        formatRefusals(counts),
        formatMetric('postern_work_overdue_seconds', 'Age of the oldest due work that no worker has taken.', 'gauge', [
          ['', overdue],
        ]),
        formatMetric(
          'postern_event_loop_delay_seconds',
          'Delay of the event loop: the worse 99th percentile of the last half minute and the current one.',
          'gauge',
          [['', Math.max(lastDelayNs, delayHistogram.percentile(99)) / 1e9]],
        ),
        formatMetric('process_resident_memory_bytes', 'Resident memory.', 'gauge', [['', process.memoryUsage.rss()]]),
      ].join('')
      return text
    },
    close() {
      clearInterval(spanTimer)
      delayHistogram.disable()
    },
  }
}

function formatRefusals({ refusals, refused }: Pick<StoreCounts, 'refusals' | 'refused'>): string {
  const samples = refused.map(({ via, code, count }): Sample => {
    return [`{channel="${escapeLabel(via)}",code="${code}"}`, count]
  })
  const help = 'Refusals by channel and code, listed or not.'
  return [
    formatMetric('postern_refusals', 'Refusals of all kinds, listed or not.', 'gauge', [['', refusals]]),
    formatMetric('postern_refusals_total', help, 'counter', samples),
  ].join('')
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

function formatMetric(name: string, help: string, type: 'gauge' | 'counter', samples: readonly Sample[]): string {
  const lines = samples.map(([labels, value]) => `${name}${labels} ${value}\n`)
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join('')}`
}

/** The labels `le` of a histogram, as Prometheus writes them. */
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
