import type { EarlierTree } from '../harness/earlier-tree.ts'
import { median, medianRatio } from '../harness/measure.ts'
import { formatColumns } from '../harness/report.ts'
import { measureByTurns } from '../harness/turns.ts'
import type { Launched } from './starters.ts'
import { listStarters } from './starters.ts'

/** Medians over the rounds. */
interface StartLine extends Launched {
  readonly name: string
  readonly note: string
  /** How much longer the first line takes, or the one that this one is an earlier version of. */
  readonly ratio: number
  /** The same of the CPU time. */
  readonly cpuRatio: number
  /** Of that line. */
  readonly besideMs: number
}

/** Starts everything by turns; the first round only fills the compile cache. */
export async function measureStarts(
  rounds: number,
  progress: (text: string) => void,
  earlier: EarlierTree | undefined,
): Promise<readonly StartLine[]> {
  const starters = listStarters(earlier)
  const taken = await measureByTurns(starters, { title: 'start', rounds, progress }, ({ start }) => start())
  return starters.map(({ name, note, against = starters[0]?.name }, index) => {
    const other = starters.findIndex(starter => starter.name === against)
    const [launched = [], beside = []] = [taken[index], taken[other]]
    return {
      name,
      note,
      startMs: median(launched.map(({ startMs }) => startMs)),
      cpuMs: median(launched.map(({ cpuMs }) => cpuMs)),
      rss: median(launched.map(({ rss }) => rss)),
      ratio: medianRatio(beside, launched, ({ startMs }) => startMs),
      cpuRatio: medianRatio(beside, launched, ({ cpuMs }) => cpuMs),
      besideMs: median(beside.map(({ startMs }) => startMs)),
    }
  })
}

const headings = ['start', 'to listening, ms', 'beside', 'beside ÷ it', 'CPU ms', 'beside ÷ it', 'RSS MB']

export function formatStarts(lines: readonly StartLine[]): string {
  const rows = lines.map(({ name, startMs, besideMs, ratio, cpuMs, cpuRatio, rss }, index) => [
    name,
    startMs.toFixed(0),
    index === 0 ? '' : besideMs.toFixed(0),
    index === 0 ? 'ours' : ratio.toFixed(2),
    cpuMs.toFixed(0),
    index === 0 ? 'ours' : cpuRatio.toFixed(2),
    (rss / 1e6).toFixed(0),
  ])
  const notes = lines.map(({ name, note }) => `  ${name}: ${note}`)
  return [formatColumns([headings, ...rows], 1), '', aims, ...notes].join('\n')
}

const aims = 'Aims: "postern start" listens after at most 3 times the floor’s time, with at most 110 MB.'
