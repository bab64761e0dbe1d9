import type { ConfigError } from '@postern/core'
import { isPostgresUrl } from '@postern/store'
import type { Verdict } from '../checks/finding.ts'
import type { DoctorDeps, MachineDeps } from './deps.ts'
import type { CheckGroup, CheckOutcome } from './report.ts'

type Outcomes = CheckOutcome | readonly CheckOutcome[]

interface CheckText {
  /** Its group, a dot, and one name. Stable. */
  readonly id: `${CheckGroup}.${string}`
  /** What is asked, for the reference. */
  readonly what: string
  /** How it is mended, in general. */
  readonly fix: string
  /** Default: 10 000. */
  readonly timeoutMs?: number
}

/** One question about an installation. */
export interface Check extends CheckText {
  /** Without one of them it is skipped. */
  readonly needs?: readonly Need[] | undefined
  run(deps: DoctorDeps): Promise<Outcomes> | Outcomes
}

/** One that also makes sense where the configuration cannot be read. */
export interface MachineCheck extends CheckText {
  readonly needs?: undefined
  run(deps: MachineDeps): Promise<Outcomes> | Outcomes
}

export function groupOf({ id }: Pick<CheckText, 'id'>): CheckGroup {
  return id.slice(0, id.indexOf('.')) as CheckGroup
}

const verdicts = { ok: 'ok', warning: 'warning', error: 'failure' } as const

export function about(subject: string, { severity, message, fix }: Verdict): CheckOutcome {
  return { subject, verdict: verdicts[severity], message, ...(fix !== undefined && { fix }) }
}

export function skip(subject: string, message: string): CheckOutcome {
  return { subject, verdict: 'skipped', message }
}

/** The fix stands by itself. */
export function toFailure({ key, message, fix }: ConfigError): CheckOutcome {
  const problem = message.endsWith(` ${fix}`) ? message.slice(0, -fix.length - 1).replace(/\.$/, '') : message
  return { subject: key, verdict: 'failure', message: problem, fix }
}

/** What an error says in half a sentence. */
export function describeError(error: unknown): string {
  if (error instanceof AggregateError && error.message === '') return describeError(error.errors[0])
  return error instanceof Error ? error.message : String(error)
}

type FindReason = (deps: DoctorDeps) => string | undefined | Promise<string | undefined>

/** Why a check cannot be asked where one is absent; undefined where it is there. */
const reasons = {
  gateway: ({ gateway }) => (gateway ? undefined : 'the gateway cannot be opened; see gateway.opens'),
  running: ({ isRunning }) => (isRunning ? undefined : 'no gateway is running'),
  outside: ({ config }) => (config.dev ? 'dev mode: nobody outside can reach this gateway' : undefined),
  peers: async deps => {
    if (deps.config.dev) return undefined
    if (!deps.isRunning) return 'no gateway is running that peers could ask'
    return (await canReachOrigin(deps)) ? undefined : `${deps.config.origin} cannot be reached; see network.origin`
  },
  postgres: ({ config }) => (isPostgresUrl(config.store) ? undefined : 'the store is a file in the data folder'),
  sqlite: ({ config }) => (isPostgresUrl(config.store) ? 'the store is PostgreSQL' : undefined),
} as const satisfies Readonly<Record<string, FindReason>>

type Need = keyof typeof reasons

/** What is missing for a check, as a reason to skip it: the first one that is. */
export async function findMissingNeed(
  { needs = [] }: Pick<Check, 'needs'>,
  deps: DoctorDeps,
): Promise<string | undefined> {
  for (const need of needs) {
    const reason = await reasons[need](deps)
    if (reason !== undefined) return reason
  }
  return undefined
}

/** What several checks of one run ask for, asked once. */
export function oncePerRun<Deps extends object, Answer>(ask: (deps: Deps) => Promise<Answer>) {
  const known = new WeakMap<Deps, Promise<Answer>>()
  return (deps: Deps): Promise<Answer> => {
    const asked = known.get(deps) ?? ask(deps)
    known.set(deps, asked)
    return asked
  }
}

/** Whether anybody answers at the public address, whatever they say. */
const canReachOrigin = oncePerRun(({ config, outside }: DoctorDeps) =>
  outside.fetch(`${config.origin}/healthz`, { timeoutMs: 6_000 }).then(
    () => true,
    () => false,
  ),
)
