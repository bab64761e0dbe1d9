import { resolve } from 'node:path'
import { parseArgs } from 'node:util'

export const jobs = [
  'activitypub',
  'a2a',
  'mail',
  'maillarge',
  'mailout',
  'stall',
  'flood',
  'memory',
  'growth',
  'fanout',
  'transcript',
  'start',
  'calls',
  'tasks',
  'postgres',
  'mixed',
] as const
export type Job = (typeof jobs)[number]

/** Done only when they are named. */
const detailed: readonly Job[] = ['calls', 'tasks', 'postgres', 'mixed']
const usual = jobs.filter(job => !detailed.includes(job))

export interface BenchOptions {
  readonly only: readonly Job[]
  readonly rounds: number
  /** Of each saturated phase. */
  readonly seconds: number
  /** Where CPU profiles go; undefined: measure instead. */
  readonly profile: string | undefined
  /** Fewer rounds, messages and stored messages. */
  readonly quick: boolean
  /** Up to a million stored messages. */
  readonly full: boolean
  readonly json: boolean
  readonly help: boolean
}

export const benchUsage = `npm run bench -- [options]

  --only <job>     one of ${jobs.join(', ')}; may be repeated (default: all but ${detailed.join(', ')})
  --rounds <n>     measured rounds after one that warms up (default 5)
  --seconds <s>    how long each server is kept busy in each round (default 3)
  --quick          fewer of everything: 2 rounds of 1 s, 10 000 messages, 10 000 stored messages
  --full           up to 1 000 000 stored messages (takes minutes and 7 GB of disk); ten minutes of each mixed load
  --profile <dir>  instead of measuring, write one CPU profile per protocol of our own server there and print the
                   functions with the most self time
  --json           machine-readable`

/** @throws TypeError naming the option that cannot be understood */
export function parseOptions(argv: readonly string[]): BenchOptions {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      only: { type: 'string', multiple: true, default: usual },
      rounds: { type: 'string' },
      seconds: { type: 'string' },
      quick: { type: 'boolean', default: false },
      full: { type: 'boolean', default: false },
      profile: { type: 'string' },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  })
  const { quick, full } = values
  return {
    only: values.only.map(parseJob),
    rounds: parsePositive('--rounds', values.rounds ?? (quick ? '2' : '5')),
    seconds: parsePositive('--seconds', values.seconds ?? (quick ? '1' : '3')),
    quick,
    full,
    profile: values.profile === undefined ? undefined : resolve(values.profile),
    json: values.json,
    help: values.help,
  }
}

function parseJob(text: string): Job {
  const job = jobs.find(name => name === text)
  if (!job) throw new TypeError(`--only "${text}" is not one of ${jobs.join(', ')}`)
  return job
}

function parsePositive(name: string, text: string): number {
  const value = Number(text)
  if (!(value > 0)) throw new TypeError(`${name} "${text}" is not a positive number`)
  return value
}
