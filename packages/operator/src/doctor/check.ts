// Defines a check of `postern doctor`: its id, its fix, its needs and the function that runs it.
import type { ConfigError } from '@postern/message'
import { isPostgresUrl } from '@postern/store'
import type { Verdict } from '../checks/verdict.ts'
import type { DoctorDeps, MachineDeps } from './deps.ts'
import type { CheckGroup, CheckOutcome } from './report.ts'

/** The results of a check: one, or one for each subject. */
export type CheckOutcomes = CheckOutcome | readonly CheckOutcome[]

interface CheckText {
  /** The id: a group, a dot, and a name. It stays the same across releases, for programs. */
  readonly id: `${CheckGroup}.${string}`
  /** The condition that the check verifies, as the reference lists it. */
  readonly description: string
  /** The general fix. */
  readonly fix: string
  /** The time limit, ms; default: 10 000. */
  readonly timeoutMs?: number
}

/** One check of an installation. */
export interface Check extends CheckText {
  /** The check is skipped if one of these is missing. */
  readonly needs?: readonly Need[] | undefined
  run(deps: DoctorDeps): Promise<CheckOutcomes> | CheckOutcomes
}

/** A check that also works without a readable configuration. */
export interface MachineCheck extends CheckText {
  readonly needs?: undefined
  run(deps: MachineDeps): Promise<CheckOutcomes> | CheckOutcomes
}

export function groupOf({ id }: Pick<CheckText, 'id'>): CheckGroup {
  return id.slice(0, id.indexOf('.')) as CheckGroup
}

const verdicts = { ok: 'ok', warning: 'warning', error: 'failure' } as const

export function outcomeFor(subject: string, { severity, message, fix }: Verdict): CheckOutcome {
  return { subject, verdict: verdicts[severity], message, ...(fix !== undefined && { fix }) }
}

export function skip(subject: string, message: string): CheckOutcome {
  return { subject, verdict: 'skipped', message }
}

/** The largest number of outcomes of one check, which may judge each of very many agents. */
const maxOutcomes = 100

/** Shortens the outcomes of a check: faults come first, and one outcome counts those that are left out. */
export function limitOutcomes(outcomes: readonly CheckOutcome[]): readonly CheckOutcome[] {
  if (outcomes.length <= maxOutcomes) return outcomes
  const isFault = ({ verdict }: CheckOutcome) => verdict === 'failure' || verdict === 'warning'
  const sortedOutcomes = [...outcomes.filter(isFault), ...outcomes.filter(outcome => !isFault(outcome))]
  const leftOutOutcomes = sortedOutcomes.slice(maxOutcomes)
  const faultCount = leftOutOutcomes.filter(isFault).length
  const message = `${leftOutOutcomes.length} more are not listed, ${faultCount} of them with a fault`
  const summary = faultCount > 0 ? { subject: '', verdict: 'warning' as const, message } : skip('', message)
  return [...sortedOutcomes.slice(0, maxOutcomes), summary]
}

/** Converts an error of the configuration to a failure, whose fix is a separate member. */
export function toFailure({ key, message, fix }: ConfigError): CheckOutcome {
  const sentence = message.endsWith(` ${fix}`) ? message.slice(0, -fix.length - 1).replace(/\.$/, '') : message
  return { subject: key, verdict: 'failure', message: sentence, fix }
}

type FindReason = (deps: DoctorDeps) => string | undefined | Promise<string | undefined>

/** The reasons to skip a check. Each function returns the reason if its need is missing; undefined if the need is met. */
const skipReasonsByNeed = {
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

type Need = keyof typeof skipReasonsByNeed

/** Returns the reason to skip a check, which is the first missing need; undefined if none is missing. */
export async function findMissingNeed(
  { needs = [] }: Pick<Check, 'needs'>,
  deps: DoctorDeps,
): Promise<string | undefined> {
  for (const need of needs) {
    const reason = await skipReasonsByNeed[need](deps)
    if (reason !== undefined) return reason
  }
  return undefined
}

/** Wraps a question that several checks of one run share, so that it is asked only once per run. */
export function oncePerRun<Deps extends object, Answer>(fetchAnswer: (deps: Deps) => Promise<Answer>) {
  const answers = new WeakMap<Deps, Promise<Answer>>()
  return (deps: Deps): Promise<Answer> => {
    const answer = answers.get(deps) ?? fetchAnswer(deps)
    answers.set(deps, answer)
    return answer
  }
}

/** Returns true if any server answers at the public address. */
const canReachOrigin = oncePerRun(({ config, network }: DoctorDeps) =>
  network.fetch(`${config.origin}/healthz`, { timeoutMs: 6_000 }).then(
    () => true,
    () => false,
  ),
)
