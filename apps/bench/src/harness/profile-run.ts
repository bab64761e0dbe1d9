import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { startServer } from '../servers/process.ts'
import type { BenchCase, Contender } from './case.ts'
import { measureRound } from './measure.ts'
import type { ProfileSummary } from './profile.ts'
import { monotonicMicros, summarizeProfiles } from './profile.ts'
import { formatColumns } from './report.ts'

interface ProfileOptions {
  readonly directory: string
  readonly seconds: number
}

const warmUpCount = 4_000
const top = 25

/**
 * Runs one contender under V8's CPU profiler; only the loaded, warm stretch counts. Time is wall time: a commit that waits
 * for the disk shows as busy.
 */
export async function profileContender(
  benchCase: BenchCase,
  contender: Contender,
  { directory, seconds }: ProfileOptions,
): Promise<ProfileSummary> {
  const own = join(directory, `${benchCase.name} ${contender.name}`.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-'))
  mkdirSync(own, { recursive: true })
  const nodeFlags = [...(contender.nodeFlags ?? []), '--cpu-prof', `--cpu-prof-dir=${own}`, '--cpu-prof-interval=500']
  // Not kept to one core: the profiler counts a thread that waits for its turn as busy.
  const server = await startServer({ ...contender, core: undefined, nodeFlags })
  const load = async (count: number) => ({
    ...benchCase,
    port: server.port,
    requests: await benchCase.prepare(count, contender.variant),
  })
  try {
    const { perSecond } = await measureRound({ server, load: await load(warmUpCount), seconds })
    const measured = await load(Math.ceil(perSecond * seconds * 1.5))
    const from = monotonicMicros()
    await measureRound({ server, load: measured, seconds })
    const to = monotonicMicros()
    await server.stop()
    return summarizeProfiles(own, { from, to }, top)
  } finally {
    await server.stop()
  }
}

export function formatProfile(title: string, { functions, deps, inclusive }: ProfileSummary): string {
  const format = (times: ProfileSummary['deps']) =>
    formatColumns(times.map(({ what, share }) => [`${(share * 100).toFixed(1)} %`.padStart(7), what]))
  return [
    `${title}: self time by room`,
    format(deps),
    `\n${title}: self time by function`,
    format(functions),
    `\n${title}: our functions with all they call`,
    format(inclusive),
  ].join('\n')
}
