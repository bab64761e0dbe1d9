// Profiles a server under load.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { startServer } from '../../servers/process.ts'
import { measureRound } from '../measure.ts'
import type { BenchCase, Contender } from '../rounds.ts'
import { warmUpServers } from '../warm-up.ts'
import type { ProfileSummary } from './summarize-profiles.ts'
import { summarizeProfiles } from './summarize-profiles.ts'

const top = 25

/** Options for where a profile goes, and for the length of its two stretches: messages that warm the server up, and seconds of load. */
export interface ProfileOptions {
  readonly directory: string
  readonly seconds: number
  readonly warmUp: number
}

/**
 * Runs one contender under V8's CPU profiler; only the loaded, warm stretch counts. Time is wall time: a commit that waits
 * for the disk shows as busy.
 */
export async function profileContender(
  benchCase: BenchCase,
  contender: Contender,
  { directory, seconds, warmUp }: ProfileOptions,
): Promise<ProfileSummary> {
  const profileFolder = join(
    directory,
    `${benchCase.name} ${contender.name}`.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-'),
  )
  mkdirSync(profileFolder, { recursive: true })
  const nodeFlags = [
    ...(contender.nodeFlags ?? []),
    '--cpu-prof',
    `--cpu-prof-dir=${profileFolder}`,
    '--cpu-prof-interval=500',
  ]
  // The server is not pinned to one core, because the profiler counts a thread that waits for its turn as busy.
  await using server = await startServer({ ...contender, core: undefined, nodeFlags })
  const load = async (count: number) => ({
    ...benchCase,
    port: server.port,
    requests: await benchCase.prepare(count, contender.variant),
  })
  const count = Math.min(warmUp, benchCase.maxWarmUp ?? warmUp)
  const [perSecond = 0] = await warmUpServers([{ server, variant: contender.variant }], benchCase, count)
  const measured = await load(Math.ceil(perSecond * seconds * 1.5))
  const from = monotonicMicros()
  await measureRound({ server, load: measured, seconds })
  const to = monotonicMicros()
  await server.stop()
  return summarizeProfiles(profileFolder, { from, to }, top)
}

function monotonicMicros(): number {
  return Number(process.hrtime.bigint() / 1000n)
}
