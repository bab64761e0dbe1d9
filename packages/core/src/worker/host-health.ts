import type { Platform } from '../ports/platform/platform.ts'
import { isoTime } from '../ports/platform/platform.ts'

const reasons = {
  open: 'its host does not answer and is left alone for a while',
  held: 'its host asked for time',
} as const

export function nameReason({ openUntil = 0 }: HostState, now: number): string {
  return openUntil > now ? reasons.open : reasons.held
}

export function logChange(log: Platform['log'], host: string, before: HostState, after: HostState): void {
  if (after.openUntil !== undefined && after.openUntil !== before.openUntil) {
    const until = isoTime(after.openUntil)
    log.warn(
      { host, failures: after.failures.length, opened: after.openings, until },
      'host left alone: it does not answer',
    )
  }
  if (before.openUntil !== undefined && after.openUntil === undefined) log.info({ host }, 'host answers again')
  if (after.heldUntil > before.heldUntil) {
    log.info({ host, until: isoTime(after.heldUntil) }, 'host left alone: it asked for time')
  }
}

export interface BreakerPolicy {
  /** So many failures in a row, within `withinMs`, and the host is left alone. */
  readonly failures: number
  readonly withinMs: number
  /** How long it is left alone before it is tried once; doubles with each try that fails, up to `capMs`. */
  readonly openMs: number
  readonly capMs: number
  /** A try that has not come back by then makes room for another. */
  readonly probeMs: number
  /** A host nothing was heard of for so long is forgotten. */
  readonly keepMs: number
  /** Of more hosts than these the ones longest untouched are forgotten. */
  readonly maxHosts: number
}

export const defaultBreakerPolicy: BreakerPolicy = {
  failures: 5,
  withinMs: 10 * 60_000,
  openMs: 30 * 60_000,
  capMs: 6 * 3_600_000,
  probeMs: 60_000,
  keepMs: 24 * 3_600_000,
  maxHosts: 10_000,
}

/** What a try tells about its host: it `lives`, it is `failing`, or nothing (the fault was ours). */
export interface Tried {
  readonly health: 'lives' | 'failing' | 'unknown'
  /** How long the host asked to be left alone, ms. */
  readonly askedMs?: number | undefined
}

/** What is known of a host that has failed or asked for time. Nothing is kept of the others. */
export interface HostState {
  /** When, the last few in a row; ms. */
  readonly failures: readonly number[]
  /** Set while it is left alone; from then on one try at a time is let through. */
  readonly openUntil?: number | undefined
  /** How often in a row it was left alone. */
  readonly openings: number
  /** Set while the one try is under way. */
  readonly probeUntil?: number | undefined
  /** Until when it asked to be left alone. */
  readonly heldUntil: number
  readonly touchedAt: number
}

export const unknownHost: HostState = { failures: [], openings: 0, heldUntil: 0, touchedAt: 0 }

const askedAtLeastMs = 1_000

interface Moment {
  readonly now: number
  readonly policy: BreakerPolicy
}

/** `wait`: until one of those under way has reported. Of a host that has failed no more are tried at once than it takes to tell. */
export function findWay(
  state: HostState,
  { running, now, policy }: Moment & { readonly running: number },
): 'go' | 'wait' | 'later' {
  const { openUntil, probeUntil = 0, heldUntil } = state
  if (Math.max(heldUntil, openUntil ?? 0) > now) return 'later'
  if (openUntil !== undefined) return probeUntil > now ? 'wait' : 'go'
  const failed = recentFailures(state, { now, policy }).length
  return failed > 0 && running > 0 && failed + running >= policy.failures ? 'wait' : 'go'
}

function recentFailures({ failures }: HostState, { now, policy: { withinMs } }: Moment): readonly number[] {
  return failures.filter(at => at > now - withinMs)
}

export function learnOf(state: HostState, tried: Tried, moment: Moment): HostState {
  const held = { ...state, heldUntil: holdUntil(state, tried, moment), touchedAt: moment.now, probeUntil: undefined }
  if (tried.health === 'unknown') return held
  if (tried.health === 'lives') return { ...held, failures: [], openUntil: undefined, openings: 0 }
  return countFailure(held, moment)
}

function holdUntil({ heldUntil }: HostState, { askedMs }: Tried, { now, policy: { capMs } }: Moment): number {
  if (askedMs === undefined) return heldUntil
  return Math.max(heldUntil, now + Math.min(capMs, Math.max(askedAtLeastMs, askedMs)))
}

function countFailure(state: HostState, { now, policy }: Moment): HostState {
  // A straggler of the tries that have opened it says nothing new.
  if (state.openUntil !== undefined && now < state.openUntil) return state
  const failures = [...recentFailures(state, { now, policy }), now].slice(-policy.failures)
  if (state.openUntil === undefined && failures.length < policy.failures) return { ...state, failures }
  const openMs = Math.min(policy.capMs, policy.openMs * 2 ** state.openings)
  return { ...state, failures, openUntil: now + openMs, openings: state.openings + 1 }
}

export function isWorthKeeping({ failures, openUntil, heldUntil }: HostState, now: number): boolean {
  return failures.length > 0 || openUntil !== undefined || heldUntil > now
}
