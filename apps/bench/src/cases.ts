// Lists every measurement of the bench by name.
import { probeCalls } from './a2a/calls.ts'
import { openA2aCase, openSlowA2aCase } from './a2a/case.ts'
import { openStreamCase } from './a2a/stream-case.ts'
import { openActivityPubCase } from './activitypub/case.ts'
import { probeAgents } from './agents/probe.ts'
import { probeFanout } from './fanout/probe.ts'
import { probeFlood } from './flood/probe.ts'
import { probeGrowth } from './growth/probe.ts'
import type { BenchCase } from './harness/rounds.ts'
import type { Probe } from './harness/tables/figure.ts'
import { openLargeMailCase, openMailCase } from './mail/case.ts'
import { probeMailOut } from './mailout/probe.ts'
import { probeMemory } from './memory/probe.ts'
import { probeTasks } from './memory/tasks.ts'
import { probeMixed } from './mixed/probe.ts'
import type { Job } from './options.ts'
import { probeHeldGateways } from './postgres/cpu-limited.ts'
import { probeFarPostgres } from './postgres/far.ts'
import { probePostgres } from './postgres/probe.ts'
import { probeStall } from './stall/probe.ts'
import { probeTranscript } from './transcript/probe.ts'
import { openWebCase } from './web/case.ts'

export type RaceJob = 'activitypub' | 'a2a' | 'a2a-20ms' | 'stream' | 'web' | 'mail' | 'maillarge'
type ProbeJob = Exclude<Job, RaceJob | 'start'>

/** The list of measured protocols. Each one has one entry here, and its folder. */
export const openCase: Readonly<Record<RaceJob, () => Promise<BenchCase>>> = {
  activitypub: openActivityPubCase,
  a2a: openA2aCase,
  'a2a-20ms': openSlowA2aCase,
  stream: openStreamCase,
  web: openWebCase,
  mail: openMailCase,
  maillarge: openLargeMailCase,
}

/** The measurements of another shape, each with its folder. */
export const probes: Readonly<Record<ProbeJob, Probe>> = {
  mailout: probeMailOut,
  stall: probeStall,
  flood: probeFlood,
  memory: probeMemory,
  growth: probeGrowth,
  fanout: probeFanout,
  calls: probeCalls,
  tasks: probeTasks,
  transcript: probeTranscript,
  agents: probeAgents,
  postgres: probePostgres,
  'postgres-held': probeHeldGateways,
  'postgres-far': probeFarPostgres,
  mixed: probeMixed,
}

export function isRace(job: Job): job is RaceJob {
  return job in openCase
}

export function isProbe(job: Job): job is ProbeJob {
  return job in probes
}
