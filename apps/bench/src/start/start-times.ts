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
  /** The start time of the reference line, divided by the start time of this line. */
  readonly ratio: number
  /** The CPU time of the reference line, divided by the CPU time of this line. */
  readonly cpuRatio: number
  /** The start time of the reference line, ms. */
  readonly referenceMs: number
}

/** Starts the programs in turn. The first round does not count, because it fills the compile cache. */
export async function measureStarts(
  rounds: number,
  reportProgress: (text: string) => void,
  earlier: EarlierTree | undefined,
): Promise<readonly StartLine[]> {
  const starters = listStartContenders(earlier)
  const measurements = await measureInterleaved(
    starters,
    { title: 'start', rounds, progress: reportProgress },
    ({ start }) => start(),
  )
  return starters.map(({ name, note, row, aim, referenceName = starters[0]?.name }, index) => {
    const baselineIndex = starters.findIndex(starter => starter.name === referenceName)
    const [ownMeasurements = [], baseline = []] = [measurements[index], measurements[baselineIndex]]
    return {
      name,
      note,
      ...(row && { row }),
      ...(aim && { aim }),
      startMs: median(ownMeasurements.map(({ startMs }) => startMs)),
      cpuMs: median(ownMeasurements.map(({ cpuMs }) => cpuMs)),
      rssBytes: median(ownMeasurements.map(({ rssBytes }) => rssBytes)),
      ratio: medianRatio(baseline, ownMeasurements, ({ startMs }) => startMs),
      cpuRatio: medianRatio(baseline, ownMeasurements, ({ cpuMs }) => cpuMs),
      referenceMs: median(baseline.map(({ startMs }) => startMs)),
    }
  })
}

const headings = ['start', 'to listening, ms', 'reference', 'reference ÷ this', 'CPU ms', 'reference ÷ this', 'RSS MB']

export function formatStarts(lines: readonly StartLine[]): string {
  const tableRows = lines.map(({ name, startMs, referenceMs, ratio, cpuMs, cpuRatio, rssBytes }, index) => [
    name,
    startMs.toFixed(0),
    index === 0 ? '' : referenceMs.toFixed(0),
    index === 0 ? 'ours' : ratio.toFixed(2),
    cpuMs.toFixed(0),
    index === 0 ? 'ours' : cpuRatio.toFixed(2),
    (rssBytes / 1e6).toFixed(0),
  ])
  const notes = lines.map(({ name, note }) => `  ${name}: ${note}`)
  return [formatColumns([headings, ...tableRows], 1), '', aimsLine, ...notes].join('\n')
}

/** Lists the figures of starts that have an aim: the ratio to the reference server, and the memory of the package. */
export function listStartAims(lines: readonly StartLine[]) {
  const packaged = lines.find(({ name }) => name === packagedName)
  const figuresWithAim = lines.flatMap(({ row, aim, ratio }) => (row && aim ? [{ row, aim, ratio }] : []))
  return packaged
    ? [...figuresWithAim, { ...rows.startMemory, value: packaged.rssBytes / 1e6, unit: 'MB' }]
    : figuresWithAim
}

const aimsLine = `Aims: "${packagedName}" takes ${formatBound(rows.start.aim)} times the reference server’s time to listen, and then ${formatBound(rows.startMemory.aim)} MB.`
