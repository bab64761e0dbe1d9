// Measures how long programs take from spawn to listening.
import { formatBound } from '../aims/bound.ts'
import type { Aim } from '../aims/rows.ts'
import { rows } from '../aims/rows.ts'
import type { EarlierTree } from '../harness/earlier-tree.ts'
import { measureInterleaved } from '../harness/interleave.ts'
import { median, medianRatio } from '../harness/statistics.ts'
import { formatColumns } from '../harness/tables/columns.ts'
import type { StartMeasurement } from './contenders.ts'
import { listStartContenders, packagedName } from './contenders.ts'

/** The medians of all rounds. `aim` bounds `ratio`. */
interface StartLine extends StartMeasurement, Partial<Aim> {
  readonly name: string
  readonly note: string
  /** The start time of the line that it is compared with, divided by its own. */
  readonly ratio: number
  /** The same ratio for the CPU time. */
  readonly cpuRatio: number
  /** The start time of the line that it is compared with, ms. */
  readonly referenceMs: number
}

/** Starts the programs in turn. The first round does not count, because it fills the compile cache. */
export async function measureStarts(
  rounds: number,
  progress: (text: string) => void,
  earlier: EarlierTree | undefined,
): Promise<readonly StartLine[]> {
  const starters = listStartContenders(earlier)
  const measurements = await measureInterleaved(starters, { title: 'start', rounds, progress }, ({ start }) => start())
  return starters.map(({ name, note, row, aim, referenceName = starters[0]?.name }, index) => {
    const baselineIndex = starters.findIndex(starter => starter.name === referenceName)
    const [launched = [], baseline = []] = [measurements[index], measurements[baselineIndex]]
    return {
      name,
      note,
      ...(row && { row }),
      ...(aim && { aim }),
      startMs: median(launched.map(({ startMs }) => startMs)),
      cpuMs: median(launched.map(({ cpuMs }) => cpuMs)),
      rssBytes: median(launched.map(({ rssBytes }) => rssBytes)),
      ratio: medianRatio(baseline, launched, ({ startMs }) => startMs),
      cpuRatio: medianRatio(baseline, launched, ({ cpuMs }) => cpuMs),
      referenceMs: median(baseline.map(({ startMs }) => startMs)),
    }
  })
}

const headings = ['start', 'to listening, ms', 'reference', 'reference ÷ it', 'CPU ms', 'reference ÷ it', 'RSS MB']

export function formatStarts(lines: readonly StartLine[]): string {
  const rows = lines.map(({ name, startMs, referenceMs, ratio, cpuMs, cpuRatio, rssBytes }, index) => [
    name,
    startMs.toFixed(0),
    index === 0 ? '' : referenceMs.toFixed(0),
    index === 0 ? 'ours' : ratio.toFixed(2),
    cpuMs.toFixed(0),
    index === 0 ? 'ours' : cpuRatio.toFixed(2),
    (rssBytes / 1e6).toFixed(0),
  ])
  const notes = lines.map(({ name, note }) => `  ${name}: ${note}`)
  return [formatColumns([headings, ...rows], 1), '', aims, ...notes].join('\n')
}

/** Lists the figures of starts that have an aim: the ratio to the reference server, and the memory of the package. */
export function listStartAims(lines: readonly StartLine[]) {
  const packaged = lines.find(({ name }) => name === packagedName)
  const figuresWithAim = lines.flatMap(({ row, aim, ratio }) => (row && aim ? [{ row, aim, ratio }] : []))
  return packaged
    ? [...figuresWithAim, { ...rows.startMemory, value: packaged.rssBytes / 1e6, unit: 'MB' }]
    : figuresWithAim
}

const aims = `Aims: "${packagedName}" takes ${formatBound(rows.start.aim)} times the reference server’s time to listen, and then ${formatBound(rows.startMemory.aim)} MB.`
