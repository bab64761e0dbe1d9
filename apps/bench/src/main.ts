import type { RaceJob } from './cases.ts'
import { isProbe, isRace, openCase, probes } from './cases.ts'
import { rivalCase } from './earlier/rivals.ts'
import { describeConditions } from './harness/conditions.ts'
import type { EarlierTree } from './harness/earlier-tree.ts'
import { openEarlierTree } from './harness/earlier-tree.ts'
import type { Figure } from './harness/figure.ts'
import { formatFigures } from './harness/figure.ts'
import { formatProfile, profileContender } from './harness/profile.ts'
import type { Line } from './harness/report.ts'
import { formatReport, summarizeCase } from './harness/report.ts'
import { runRounds } from './harness/rounds.ts'
import type { BenchOptions } from './options.ts'
import { benchUsage, parseOptions } from './options.ts'
import { isOurs } from './ours/open.ts'
import { findCores, pinThisThread } from './servers/process.ts'
import { formatStarts, measureStarts } from './start/measure.ts'

const options = parseOptions(process.argv.slice(2))
const cores = findCores()
const races = options.only.filter(isRace)
const measurements = options.only.filter(isProbe)
const progress = (text: string) => void process.stderr.write(`${text}\n`)

if (options.help) console.log(benchUsage)
else if (options.profile) await printProfiles(options.profile, options)
else if (options.against === undefined) await printMeasurements(options)
else await printAgainst(options.against)

async function printAgainst(commit: string): Promise<void> {
  progress(`installing the packages of ${commit}`)
  await using ends = new AsyncDisposableStack()
  const earlier = await openEarlierTree(commit)
  ends.defer(earlier.remove)
  await printMeasurements(options, earlier)
}

async function printMeasurements({ only, rounds, json }: BenchOptions, earlier?: EarlierTree): Promise<void> {
  // Before this thread is kept to one core: what it starts afterwards would inherit that.
  const starts = only.includes('start') ? await measureStarts(rounds, progress, earlier) : []
  if (cores) pinThisThread(cores.load)
  const lines: Line[] = []
  for (const job of races) lines.push(...(await measureJob(job, options, earlier)))
  const figures: Figure[] = []
  for (const job of measurements) figures.push(...(await probes[job]({ ...options, cores, earlier, progress })))
  const conditions = describeConditions(options, cores)
  const tables = [
    lines.length > 0 && formatReport(lines),
    figures.length > 0 && formatFigures(figures),
    starts.length > 0 && formatStarts(starts),
    conditions,
  ]
  console.log(
    json ? JSON.stringify({ lines, figures, starts, conditions }, null, 2) : tables.filter(Boolean).join('\n\n'),
  )
}

async function measureJob(
  job: RaceJob,
  { rounds, seconds }: BenchOptions,
  earlier: EarlierTree | undefined,
): Promise<readonly Line[]> {
  const opened = await openCase[job]()
  await using ends = new AsyncDisposableStack()
  ends.defer(opened.close)
  const benchCase = earlier ? rivalCase(opened, earlier) : opened
  if (benchCase.contenders.length === 0) {
    progress(`${job}: ${earlier?.commit} cannot do this`)
    return []
  }
  return summarizeCase(benchCase.title, await runRounds(benchCase, { rounds, seconds, cores, progress }))
}

async function printProfiles(directory: string, { seconds, json }: BenchOptions): Promise<void> {
  if (cores) pinThisThread(cores.load)
  for (const job of races) {
    const benchCase = await openCase[job]()
    for (const contender of benchCase.contenders.filter(isOurs)) {
      const summary = await profileContender(benchCase, contender, { directory, seconds })
      const title = `${benchCase.title}, ${contender.name}`
      console.log(json ? JSON.stringify({ title, ...summary }) : `${formatProfile(title, summary)}\n`)
    }
    await benchCase.close()
  }
  progress(`the profiles are in ${directory}; open them in a browser's developer tools`)
}
