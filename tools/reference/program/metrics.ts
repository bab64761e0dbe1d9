// Writes docs/reference/metrics.md from the metrics of an empty gateway.
import type { OperatorStore, WorkStore } from '@postern/pipeline'
import { createMetrics } from '../../../apps/gateway/src/observe/metrics.ts'
import { createStageMeter } from '../../../apps/gateway/src/observe/telemetry/stage-meter.ts'
import { createTokenMeter } from '../../../apps/gateway/src/observe/token-meter.ts'
import { formatInlineCode, formatMarkdownTable, formatPage } from '../markdown.ts'

const intro = `
\`GET /metrics\` answers in the text format of Prometheus. It needs no token: keep it behind your proxy.

Figures of tokens and stages begin at zero when the gateway starts. Counts of messages, deliveries and refusals come from the store, so they survive a restart.
`

const alerts = `
## Three alerts to begin with

- \`postern_work_overdue_seconds > 60\` for five minutes: no worker takes work. Look at the log, then at the disk.
- \`postern_deliveries{state="dead"}\` grows: peers refuse answers. \`npx postern deliveries\` lists them.
- \`postern_event_loop_delay_seconds > 1\`: an agent module blocks the process. Move it into a process of its own.
`

/** Writes docs/reference/metrics.md. */
export async function describeMetrics(): Promise<string> {
  const described = (await renderMetrics()).matchAll(/^# HELP (\S+) (.*)\n# TYPE \1 (\w+)$/gm)
  return formatPage('Metrics', [
    intro,
    formatMarkdownTable(
      ['metric', 'type', 'labels', 'meaning'],
      [...described].map(([, name = '', help = '', type = '']) => [
        formatInlineCode(name),
        type,
        (labels[name] ?? []).map(formatInlineCode).join(', '),
        help,
      ]),
    ),
    alerts,
  ])
}

/** The labels of the metrics, which an empty store does not reveal. */
const labels: Readonly<Record<string, readonly string[]>> = {
  postern_messages: ['state'],
  postern_deliveries: ['state'],
  postern_stopped_total: ['flag'],
  postern_refusals_total: ['channel', 'code'],
  postern_tokens_total: ['agent', 'model', 'kind'],
  postern_tokens_part_total: ['agent', 'model', 'kind'],
  postern_stage_seconds: ['stage', 'channel', 'le'],
}

/** Renders the metrics with the gateway's own code. */
async function renderMetrics(): Promise<string> {
  const counts = { messages: {}, deliveries: {}, refusals: 0, refused: [], stopped: { loop_guard: 0, hop_limit: 0 } }
  const store = { count: async () => counts, findNextDueAt: async () => undefined } as unknown as OperatorStore &
    WorkStore
  using resources = new DisposableStack()
  const metrics = createMetrics(store, { meter: createTokenMeter(), stageMeter: createStageMeter() }, Date.now)
  resources.defer(metrics.close)
  return await metrics.render()
}
