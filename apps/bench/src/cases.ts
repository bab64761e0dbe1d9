import { probeCalls } from './a2a/calls.ts'
import { openA2aCase, openStreamCase } from './a2a/case.ts'
import { openActivityPubCase } from './activitypub/case.ts'
import { probeFanout } from './fanout/probe.ts'
import { probeFlood } from './flood/probe.ts'
import { probeGrowth } from './growth/probe.ts'
import type { Probe } from './harness/figure.ts'
import type { BenchCase } from './harness/rounds.ts'
import { openLargeMailCase, openMailCase } from './mail/case.ts'
import { probeMailOut } from './mailout/probe.ts'
import { probeMemory } from './memory/probe.ts'
import { probeTasks } from './memory/tasks.ts'
import { probeMixed } from './mixed/probe.ts'
import type { Job } from './options.ts'
import { probeFarPostgres } from './postgres/far.ts'
import { probePostgres } from './postgres/probe.ts'
import { probeStall } from './stall/probe.ts'
import { probeTranscript } from './transcript/probe.ts'
import { openWebCase } from './web/case.ts'

export type RaceJob = 'activitypub' | 'a2a' | 'stream' | 'web' | 'mail' | 'maillarge'
type ProbeJob = Exclude<Job, RaceJob | 'start'>

/** THE LIST: a measured protocol is one line here, and its folder. */
export const openCase: Readonly<Record<RaceJob, () => Promise<BenchCase>>> = {
  activitypub: openActivityPubCase,
  a2a: openA2aCase,
  stream: openStreamCase,
  web: openWebCase,
  mail: openMailCase,
  maillarge: openLargeMailCase,
}

/** Measurements of another shape, each with its folder. */
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
  postgres: probePostgres,
  'postgres-far': probeFarPostgres,
  mixed: probeMixed,
}

export function isRace(job: Job): job is RaceJob {
  return job in openCase
}

export function isProbe(job: Job): job is ProbeJob {
  return job in probes
}
