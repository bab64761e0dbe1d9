// Runs the bench from the command line and prints its tables.
import type { RaceJob } from './cases.ts'
import { isProbe, isRace, openCase, probes } from './cases.ts'
import { compareWithEarlier } from './earlier/pairs.ts'
import type { EarlierTree } from './harness/earlier-tree.ts'
import { openEarlierTree } from './harness/earlier-tree.ts'
import { formatProfile } from './harness/profile/format-profile.ts'
import { profileContender } from './harness/profile/profile-contender.ts'
import { runRounds } from './harness/rounds.ts'
import { collectAims, formatAims } from './harness/tables/aim-table.ts'
import { describeConditions } from './harness/tables/conditions.ts'
import type { Figure } from './harness/tables/figure.ts'
import { formatFigures } from './harness/tables/figure.ts'
import { formatReport } from './harness/tables/report.ts'
import type { SummaryRow } from './harness/tables/summary.ts'
import { summarizeCase } from './harness/tables/summary.ts'
import type { BenchOptions } from './options.ts'
import { benchUsage, parseOptions } from './options.ts'
import { isOurs } from './ours/open.ts'
import { findCores, pinThisThread } from './servers/cores.ts'
import { formatStarts, listStartAims, measureStarts } from './start/start-times.ts'

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
  await using resources = new AsyncDisposableStack()
  const earlier = await openEarlierTree(commit)
  resources.defer(earlier.remove)
  await printMeasurements(options, earlier)
}

async function printMeasurements({ only, rounds, json }: BenchOptions, earlier?: EarlierTree): Promise<void> {
  // The starts come before this thread is pinned to one core, because child processes would inherit that.
  const starts = only.includes('start') ? await measureStarts(rounds, progress, earlier) : []
  if (cores) pinThisThread(cores.load)
  const lines: SummaryRow[] = []
  for (const job of races) lines.push(...(await measureJob(job, options, earlier)))
  const figures: Figure[] = []
  for (const job of measurements) figures.push(...(await probes[job]({ ...options, cores, earlier, progress })))
  const aims = collectAims([...lines, ...figures, ...listStartAims(starts)])
  const conditions = describeConditions(options, cores)
  const tables = [
    lines.length > 0 && formatReport(lines),
    figures.length > 0 && formatFigures(figures),
    starts.length > 0 && formatStarts(starts),
    aims.length > 0 && formatAims(aims),
    conditions,
  ]
  console.log(
    json ? JSON.stringify({ aims, lines, figures, starts, conditions }, null, 2) : tables.filter(Boolean).join('\n\n'),
  )
}

async function measureJob(
  job: RaceJob,
  { rounds, seconds, warmUp }: BenchOptions,
  earlier: EarlierTree | undefined,
): Promise<readonly SummaryRow[]> {
  const openedCase = await openCase[job]()
  await using resources = new AsyncDisposableStack()
  resources.defer(openedCase.close)
  const benchCase = earlier ? compareWithEarlier(openedCase, earlier) : openedCase
  if (benchCase.contenders.length === 0) {
    progress(`${job}: ${earlier?.commit} cannot do this`)
    return []
  }
  return summarizeCase(benchCase.title, await runRounds(benchCase, { rounds, seconds, warmUp, cores, progress }))
}

async function printProfiles(directory: string, { seconds, warmUp, json }: BenchOptions): Promise<void> {
  if (cores) pinThisThread(cores.load)
  for (const job of races) {
    const benchCase = await openCase[job]()
    for (const contender of benchCase.contenders.filter(isOurs)) {
      const summary = await profileContender(benchCase, contender, { directory, seconds, warmUp })
      const title = `${benchCase.title}, ${contender.name}`
      console.log(json ? JSON.stringify({ title, ...summary }) : `${formatProfile(title, summary)}\n`)
    }
    await benchCase.close()
  }
  progress(`the profiles are in ${directory}; open them in a browser's developer tools`)
}
