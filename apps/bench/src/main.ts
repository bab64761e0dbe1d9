import { openCase } from './cases.ts'
import { describeConditions } from './harness/conditions.ts'
import { findCores, pinThisThread } from './harness/pinning.ts'
import { formatProfile, profileContender } from './harness/profile-run.ts'
import { formatReport } from './harness/report.ts'
import { runRounds } from './harness/rounds.ts'
import type { Line } from './harness/summary.ts'
import { summarizeCase } from './harness/summary.ts'
import type { BenchOptions, Job } from './options.ts'
import { parseOptions, usage } from './options.ts'
import { isOurs } from './ours/describe.ts'
import type { StartLine } from './start/measure.ts'
import { formatStarts, measureStarts } from './start/measure.ts'

const options = parseOptions(process.argv.slice(2))
const cores = findCores()
const protocols = options.only.filter(job => job !== 'start')
const progress = (text: string) => void process.stderr.write(`${text}\n`)

if (options.help) console.log(usage)
else if (options.profile) await printProfiles(options.profile, options)
else await printMeasurements(options)

async function printMeasurements({ only, rounds, json }: BenchOptions): Promise<void> {
  // Before this thread is kept to one core: what it starts afterwards would inherit that.
  const starts = only.includes('start') ? await measureStarts(rounds, progress) : []
  if (cores) pinThisThread(cores.load)
  const lines: Line[] = []
  for (const job of protocols) lines.push(...(await measureJob(job, options)))
  const conditions = describeConditions(options, cores)
  console.log(json ? JSON.stringify({ lines, starts, conditions }, null, 2) : formatAll(lines, starts, conditions))
}

async function measureJob(job: Exclude<Job, 'start'>, { rounds, seconds }: BenchOptions): Promise<readonly Line[]> {
  const benchCase = await openCase[job]()
  try {
    return summarizeCase(benchCase.title, await runRounds(benchCase, { rounds, seconds, cores, progress }))
  } finally {
    await benchCase.close()
  }
}

function formatAll(lines: readonly Line[], starts: readonly StartLine[], conditions: string): string {
  const tables = [lines.length > 0 && formatReport(lines), starts.length > 0 && formatStarts(starts), conditions]
  return tables.filter(table => table !== false).join('\n\n')
}

async function printProfiles(directory: string, { seconds, json }: BenchOptions): Promise<void> {
  if (cores) pinThisThread(cores.load)
  for (const job of protocols) {
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
