import { median } from '../harness/median.ts'
import { formatColumns } from '../harness/report.ts'
import type { Launched } from './launch.ts'
import { starters } from './starters.ts'

export interface StartLine {
  readonly name: string
  readonly note: string
  /** Medians over the rounds. */
  readonly startMs: number
  readonly rss: number
  /** Its start ÷ ours (the first line). */
  readonly ratio: number
}

/** Starts everything by turns; the first round only fills the compile cache. */
export async function measureStarts(rounds: number, progress: (text: string) => void): Promise<readonly StartLine[]> {
  const taken = new Map<string, Launched[]>(starters.map(({ name }) => [name, []]))
  for (let round = 0; round <= rounds; round++) {
    progress(`start: ${round === 0 ? 'warming up' : `round ${round} of ${rounds}`}`)
    for (const { name, start } of starters) {
      const launched = await start()
      if (round > 0) taken.get(name)?.push(launched)
    }
  }
  const ours = taken.get(starters[0]?.name ?? '') ?? []
  return starters.map(({ name, note }) => {
    const launched = taken.get(name) ?? []
    return {
      name,
      note,
      startMs: median(launched.map(({ startMs }) => startMs)),
      rss: median(launched.map(({ rss }) => rss)),
      ratio: median(launched.map(({ startMs }, round) => startMs / (ours[round]?.startMs ?? Number.NaN))),
    }
  })
}

const headings = ['start', 'to listening, ms', 'its time ÷ ours', 'RSS MB']

export function formatStarts(lines: readonly StartLine[]): string {
  const rows = lines.map(({ name, startMs, ratio, rss }, index) => [
    name,
    startMs.toFixed(0),
    index === 0 ? 'ours' : ratio.toFixed(2),
    (rss / 1e6).toFixed(0),
  ])
  const notes = lines.map(({ name, note }) => `  ${name}: ${note}`)
  return [formatColumns([headings, ...rows], 1), '', 'Aim: listening within 500 ms of the start.', ...notes].join('\n')
}
