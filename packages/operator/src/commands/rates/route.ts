// Measures the message rate of each channel in the last hour, in the operator's API.
import { isoTime } from '@postern/message'
import type { Channel, MessageTiming, OperatorStore } from '@postern/pipeline'
import { z } from 'zod'
import type { OperatorRoute } from '../../api/operation.ts'
import { defineOperation, handleOperation } from '../../api/operation.ts'

const spanSchema = z.object({
  messages: z.int().describe('Number of messages in the span.'),
  p95_ms: z.int().optional().describe('Time from arrival to the end of the turn, 95th percentile.'),
})

const rateOperation = defineOperation({
  id: 'readRates',
  method: 'GET',
  path: '/rates',
  summary: 'Counts the messages of each channel in the last hour, with the time that they took.',
  task: 'read rates',
  answer: z.object({
    since: z.string().describe('ISO 8601 UTC; less than an hour ago if there were very many messages.'),
    until: z.string().describe('ISO 8601 UTC.'),
    channels: z
      .array(
        z.object({
          channel: z.string(),
          ...spanSchema.shape,
          per_hour: z.int().describe('Messages per hour, extrapolated from the measured period.'),
          spans: z.array(spanSchema).readonly().describe('The hour in spans of five minutes, oldest first.'),
        }),
      )
      .readonly(),
  }),
})

interface RateRouteOptions {
  readonly store: Pick<OperatorStore, 'listTimings'>
  readonly channels: readonly Pick<Channel, 'descriptor'>[]
  now(): number
}

const spanMs = 5 * 60_000
const spanCount = 12
/** The measured time, ms. */
const measuredMs = spanMs * spanCount

/** The maximum number of messages to read. On SQLite, everything else waits during the read. */
const maxTimings = 10_000

export function createRateRoute({ store, channels, now }: RateRouteOptions): OperatorRoute {
  return handleOperation(rateOperation, async () => {
    const until = now()
    const hourAgo = until - measuredMs
    const { timings, isWhole } = await store.listTimings({ since: isoTime(hourAgo), limit: maxTimings })
    const since = isWhole ? hourAgo : (timings.at(-1)?.at ?? hourAgo)
    const byChannel = Map.groupBy(timings, ({ channel }) => channel)
    return {
      since: isoTime(since),
      until: isoTime(until),
      channels: channels.map(({ descriptor: { name } }) => ({
        channel: name,
        ...measureChannel(byChannel.get(name) ?? [], { since, until }),
      })),
    }
  })
}

interface MeasuredPeriod {
  /** The beginning of the period, ms. */
  readonly since: number
  readonly until: number
}

/** Returns the number of messages, and the 95th percentile of their durations. */
function measureSpan(timings: readonly MessageTiming[]) {
  const durations = timings.flatMap(({ tookMs }) => tookMs ?? []).toSorted((a, b) => a - b)
  const p95 = durations[Math.ceil(durations.length * 0.95) - 1]
  return { messages: timings.length, ...(p95 !== undefined && { p95_ms: Math.round(p95) }) }
}

/** Returns the figures of one channel over the last hour. */
function measureChannel(timings: readonly MessageTiming[], { since, until }: MeasuredPeriod) {
  const spans = Array.from({ length: spanCount }, (): MessageTiming[] => [])
  for (const timing of timings) {
    const ageMs = Math.min(measuredMs - 1, Math.max(0, until - timing.at))
    spans[spanCount - 1 - Math.floor(ageMs / spanMs)]?.push(timing)
  }
  return {
    ...measureSpan(timings),
    per_hour: Math.round((timings.length * measuredMs) / Math.max(1, until - since)),
    spans: spans.map(measureSpan),
  }
}
