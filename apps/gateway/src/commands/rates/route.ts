import type { Channel, OperatorStore } from '@postern/core'
import { isoTime } from '@postern/core'
import type { OperatorRoute } from '../../api/operation.ts'
import { handleOperation } from '../../api/operation.ts'
import { measureChannel, measuredMs } from './measure.ts'
import { rateOperations } from './operations.ts'

interface RateRouteOptions {
  readonly store: Pick<OperatorStore, 'listTimings'>
  readonly channels: readonly Pick<Channel, 'descriptor'>[]
  now(): number
}

/** Messages that are looked at: on SQLite, all else waits for it. */
const mostTimings = 10_000

/** The figures above a list of messages. */
export function createRateRoutes({ store, channels, now }: RateRouteOptions): readonly OperatorRoute[] {
  return [
    handleOperation(rateOperations.read, async () => {
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
    }),
  ]
}
