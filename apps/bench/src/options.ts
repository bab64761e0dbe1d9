// Parses the command line of the bench.
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import type { ProbeOptions } from './harness/tables/figure.ts'

const usual = [
  'activitypub',
  'a2a',
  'a2a-20ms',
  'stream',
  'web',
  'mail',
  'maillarge',
  'mailout',
  'stall',
  'flood',
  'memory',
  'growth',
  'fanout',
  'transcript',
  'agents',
  'start',
] as const
/** Measurements that run only when they are named. */
const detailed = ['calls', 'tasks', 'postgres', 'postgres-held', 'postgres-far', 'mixed'] as const
export const jobs = [...usual, ...detailed] as const
export type Job = (typeof jobs)[number]

/** Measurements that cannot be compared with an earlier commit. */
const incomparable: readonly Job[] = ['stall', 'flood', 'memory', 'growth', 'transcript', 'agents', ...detailed]
const comparable = jobs.filter(job => !incomparable.includes(job))

export interface BenchOptions extends Pick<ProbeOptions, 'rounds' | 'seconds' | 'warmUp' | 'quick' | 'full'> {
  readonly only: readonly Job[]
  /** The folder for CPU profiles; undefined to measure instead. */
  readonly profile: string | undefined
  /** A commit of this repository to measure against; undefined for peers and floors. */
  readonly against: string | undefined
  readonly json: boolean
  readonly help: boolean
}

export const benchUsage = `npm run bench -- [options]

  --only <job>     one of ${jobs.join(', ')}; may be repeated (default: all but ${detailed.join(', ')})
  --warm-up <n>    messages that each server handles before the first round (default 40000): V8 still compiles a program that has
                   handled a few thousand
  --rounds <n>     measured rounds after one that does not count (default 5)
  --seconds <s>    how long each server is kept busy in each round (default 3)
  --quick          fewer of everything: 2 rounds of 1 s after 4 000 messages, 10 000 messages, stored messages and agents
  --full           up to 1 000 000 stored messages (takes minutes and 7 GB of disk); ten minutes of each mixed load
  --against <c>    instead of peers and floors, measure against commit <c> of this repository, whose packages are
                   installed in a temporary folder; for ${comparable.join(', ')}
  --profile <dir>  instead of measuring, write one CPU profile per protocol of our own server there and print the
                   functions with the most self time
  --json           machine-readable`

/** Parses the command line. @throws TypeError naming the option that cannot be understood */
export function parseOptions(argv: readonly string[]): BenchOptions {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      only: { type: 'string', multiple: true },
      'warm-up': { type: 'string' },
      rounds: { type: 'string' },
      seconds: { type: 'string' },
      quick: { type: 'boolean', default: false },
      full: { type: 'boolean', default: false },
      against: { type: 'string' },
      profile: { type: 'string' },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  })
  const { quick, full, against } = values
  return {
    only: selectJobs(values.only, against),
    warmUp: parseCount('--warm-up', values['warm-up'] ?? (quick ? '4000' : '40000')),
    rounds: parsePositive('--rounds', values.rounds ?? (quick ? '2' : '5')),
    seconds: parsePositive('--seconds', values.seconds ?? (quick ? '1' : '3')),
    quick,
    full,
    profile: values.profile === undefined ? undefined : resolve(values.profile),
    against,
    json: values.json,
    help: values.help,
  }
}

function selectJobs(jobNames: readonly string[] | undefined, against: string | undefined): readonly Job[] {
  if (!jobNames) return against === undefined ? usual : comparable
  const only = jobNames.map(parseJob)
  const alone = against === undefined ? undefined : only.find(job => !comparable.includes(job))
  if (alone)
    throw new TypeError(`--only "${alone}" cannot be measured --against a commit; ${comparable.join(', ')} can`)
  return only
}

function parseJob(text: string): Job {
  const job = jobs.find(name => name === text)
  if (!job) throw new TypeError(`--only "${text}" is not one of ${jobs.join(', ')}`)
  return job
}

function parseCount(name: string, text: string): number {
  const value = parsePositive(name, text)
  if (!Number.isInteger(value)) throw new TypeError(`${name} "${text}" is not a whole number`)
  return value
}

function parsePositive(name: string, text: string): number {
  const value = Number(text)
  if (!(value > 0)) throw new TypeError(`${name} "${text}" is not a positive number`)
  return value
}
