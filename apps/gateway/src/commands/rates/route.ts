import type { Channel, MessageTiming, OperatorStore } from '@postern/core'
import { isoTime } from '@postern/core'
import { z } from 'zod'
import type { OperatorRoute } from '../../api/operation.ts'
import { defineOperation, handleOperation } from '../../api/operation.ts'

const spanSchema = z.object({
  messages: z.int().describe('How many came in it.'),
  p95_ms: z.int().optional().describe('From arrival until the end of the turn: 95 of 100 took no longer.'),
})

const rateOperation = defineOperation({
  id: 'readRates',
  method: 'GET',
  path: '/rates',
  summary: 'Says how many messages came by each channel in the last hour, and how long they took.',
  task: 'read rates',
  answer: z.object({
    since: z.string().describe('ISO 8601 UTC: later than an hour ago when very many came.'),
    until: z.string().describe('ISO 8601 UTC.'),
    channels: z
      .array(
        z.object({
          channel: z.string(),
          ...spanSchema.shape,
          per_hour: z.int().describe('Messages, at the rate since then.'),
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

/** Messages that are looked at: on SQLite, all else waits for it. */
const mostTimings = 10_000

/** The figures above a list of messages. */
export function createRateRoute({ store, channels, now }: RateRouteOptions): OperatorRoute {
  return handleOperation(rateOperation, async () => {
    const until = now()
    const hourAgo = until - measuredMs
    const { timings, isWhole } = await store.listTimings({ since: isoTime(hourAgo), limit: mostTimings })
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

const spanMs = 5 * 60_000
const spanCount = 12
/** What is measured, ms. */
const measuredMs = spanMs * spanCount

interface MeasuredPeriod {
  /** ms */
  readonly since: number
  readonly until: number
}

/** How many messages there are, and how long 95 of 100 took at most. */
function measureSpan(timings: readonly MessageTiming[]) {
  const taken = timings.flatMap(({ tookMs }) => tookMs ?? []).toSorted((one, other) => one - other)
  const p95 = taken[Math.ceil(taken.length * 0.95) - 1]
  return { messages: timings.length, ...(p95 !== undefined && { p95_ms: Math.round(p95) }) }
}

/** Figures of one channel over the last hour. */
function measureChannel(timings: readonly MessageTiming[], { since, until }: MeasuredPeriod) {
  const spans = Array.from({ length: spanCount }, (): MessageTiming[] => [])
  for (const timing of timings) {
    const age = Math.min(measuredMs - 1, Math.max(0, until - timing.at))
    spans[spanCount - 1 - Math.floor(age / spanMs)]?.push(timing)
  }
  return {
    ...measureSpan(timings),
    per_hour: Math.round((timings.length * measuredMs) / Math.max(1, until - since)),
    spans: spans.map(measureSpan),
  }
}
