import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { OperatorDesk, WorkDesk } from '@postern/core'

export interface Metrics {
  /** Prometheus text format 0.0.4. */
  render(): Promise<string>
  close(): void
}

type Sample = readonly [labels: string, value: number]

/** What the gateway can say about itself, counted by the desk or by the process. */
export function createMetrics(
  desk: Pick<OperatorDesk, 'count'> & Pick<WorkDesk, 'nextDue'>,
  now: () => number,
): Metrics {
  const delay = monitorEventLoopDelay({ resolution: 20 })
  delay.enable()
  return {
    async render() {
      const [{ messages, deliveries, refusals }, due] = await Promise.all([desk.count(), desk.nextDue()])
      const overdue = due === undefined ? 0 : Math.max(0, now() - due) / 1000
      const text = [
        formatMetric('postern_messages', 'Messages stored, by state.', 'gauge', byLabel('state', messages)),
        formatMetric('postern_deliveries', 'Deliveries, by state.', 'gauge', byLabel('state', deliveries)),
        formatMetric('postern_refusals', 'Refusals remembered.', 'gauge', [['', refusals]]),
        formatMetric('postern_work_overdue_seconds', 'Age of the oldest work that nobody has taken up.', 'gauge', [
          ['', overdue],
        ]),
        formatMetric(
          'postern_event_loop_delay_seconds',
          'Delay of the event loop, 99th percentile since the last reading.',
          'gauge',
          [['', delay.percentile(99) / 1e9]],
        ),
        formatMetric('process_resident_memory_bytes', 'Resident memory.', 'gauge', [['', process.memoryUsage.rss()]]),
      ].join('')
      delay.reset()
      return text
    },
    close: () => void delay.disable(),
  }
}

function byLabel(label: string, counts: Readonly<Record<string, number>>): Sample[] {
  return Object.entries(counts).map(([name, value]) => [`{${label}="${name}"}`, value])
}

function formatMetric(name: string, help: string, type: 'gauge' | 'counter', samples: readonly Sample[]): string {
  const lines = samples.map(([labels, value]) => `${name}${labels} ${value}\n`)
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join('')}`
}
