// Counts the durations of stages, for the histograms of `/metrics`.
import type { MessageStage } from './stage.ts'

/** The upper bounds in seconds. They are the same for all stages, so that stages can be compared. */
export const stageBounds = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300] as const

/** The durations of one stage on one channel, since this process began. */
export interface StageHistogram {
  readonly stage: MessageStage['name']
  readonly via: MessageStage['via']
  /** The number of stages that took no longer than each bound; the last one counts all. */
  readonly cumulativeCounts: readonly number[]
  /** The sum of all durations, seconds. */
  readonly sum: number
}

interface ChannelCounters {
  readonly counts: number[]
  sum: number
}

export interface StageMeter {
  count(stage: MessageStage): void
  list(): readonly StageHistogram[]
}

export function createStageMeter(): StageMeter {
  const channels = new Map<MessageStage['via'], Map<MessageStage['name'], ChannelCounters>>()

  function requireHistogram({ name, via }: MessageStage): ChannelCounters {
    const counters = channels.get(via)?.get(name)
    if (counters) return counters
    const histogram = { counts: Array<number>(stageBounds.length + 1).fill(0), sum: 0 }
    const stages = channels.get(via) ?? new Map<MessageStage['name'], ChannelCounters>()
    channels.set(via, stages.set(name, histogram))
    return histogram
  }

  return {
    count(stage) {
      const seconds = Math.max(0, stage.endAt - stage.startAt) / 1000
      const histogram = requireHistogram(stage)
      let bucketIndex = 0
      while (bucketIndex < stageBounds.length && seconds > (stageBounds[bucketIndex] ?? 0)) bucketIndex += 1
      histogram.counts[bucketIndex] = (histogram.counts[bucketIndex] ?? 0) + 1
      histogram.sum += seconds
    },
    list: () =>
      [...channels].flatMap(([via, stages]) =>
        [...stages].map(([stage, { counts, sum }]) => {
          let total = 0
          return { stage, via, sum, cumulativeCounts: counts.map(count => (total += count)) }
        }),
      ),
  }
}
