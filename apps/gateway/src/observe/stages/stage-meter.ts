import type { MessageStage } from './stage.ts'

/** Upper bounds, seconds. The same for all stages, so that they can be laid side by side. */
export const stageBounds = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300] as const

/** How long one stage took on one channel, since this process began. */
export interface StageHistogram {
  readonly stage: MessageStage['name']
  readonly via: MessageStage['via']
  /** How many took no longer than each bound, and in the end all. */
  readonly cumulative: readonly number[]
  /** Seconds of all together. */
  readonly sum: number
}

export interface StageMeter {
  count(stage: MessageStage): void
  list(): readonly StageHistogram[]
}

/** Labels are names of stages and of channels, so there are few. */
export function createStageMeter(): StageMeter {
  const histograms = new Map<
    string,
    { stage: MessageStage['name']; via: MessageStage['via']; counts: number[]; sum: number }
  >()
  return {
    count({ name, via, startAt, endAt }) {
      const seconds = Math.max(0, endAt - startAt) / 1000
      const key = `${name} ${via}`
      const found = histograms.get(key)
      const histogram = found ?? { stage: name, via, counts: Array(stageBounds.length + 1).fill(0), sum: 0 }
      if (!found) histograms.set(key, histogram)
      const index = stageBounds.findIndex(bound => seconds <= bound)
      const at = index < 0 ? stageBounds.length : index
      histogram.counts[at] = (histogram.counts[at] ?? 0) + 1
      histogram.sum += seconds
    },
    list: () =>
      [...histograms.values()].map(({ stage, via, counts, sum }) => {
        let total = 0
        return { stage, via, sum, cumulative: counts.map(count => (total += count)) }
      }),
  }
}
