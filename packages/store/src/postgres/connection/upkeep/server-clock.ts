// Follows the clock of the database server, by which the leases of all gateways end.
import type { Statement } from '../pipelined-run.ts'

export const clockQuery: Statement = {
  name: 'clock',
  text: 'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS at',
}

/** A reading of the server's clock, ms since the epoch. The query was sent at `sentAt` and answered at `receivedAt` on a monotonic clock, ms. */
export interface ClockReading {
  readonly at: number
  readonly sentAt: number
  readonly receivedAt: number
  /** The wall clock of this machine at `receivedAt`, ms since the epoch. */
  readonly wallAt: number
}

/** Two clocks of this machine. */
interface MachineClocks {
  /** Returns the time of a monotonic clock, which stands still while the machine sleeps. */
  monotonicMs(): number
  /** Returns the time of the wall clock, which may be set and continues while the machine sleeps. */
  wallMs(): number
}

const machineClocks: MachineClocks = { monotonicMs: () => performance.now(), wallMs: () => Date.now() }

/** Completes a reading that was sent at `sentAt` and has just been received. */
export function completeReading(at: number, sentAt: number): ClockReading {
  return { at, sentAt, receivedAt: machineClocks.monotonicMs(), wallAt: machineClocks.wallMs() }
}

export interface ServerClock {
  now(): number
  note(reading: ClockReading): void
  /** Returns the known delay of `now` behind the server's clock, ms. */
  behindMs(): number
  /** Returns the time to wait until other gateways have renewed their leases after the clock has moved forward, ms. */
  settlingMs(): number
}

/**
 * The maximum change of the clock by one reading, ms. Otherwise, if somebody sets the server's clock forward, leases would end before the gateways that
 * have them follow the clock.
 */
const maxStepMs = 1_000
/** The maximum difference that is corrected gradually, ms. A larger difference means that the machine slept or the clock was never correct, so it is corrected at once. */
const maxGradualMs = 300_000
/**
 * The time that other gateways on the same machine need to renew their leases after a sleep, ms. They read the clock every two seconds and renew every
 * five seconds.
 */
const settleMs = 10_000

/**
 * Creates a clock that follows the server's clock from `firstReading` on. If the wall clock of this machine has advanced as much as the server's clock,
 * the machine slept, and the clock is corrected at once. Otherwise new leases would already be over when they begin.
 */
export function createServerClock(
  firstReading: ClockReading,
  { monotonicMs, wallMs }: MachineClocks = machineClocks,
): ServerClock {
  let aheadMs = firstReading.at - (firstReading.sentAt + firstReading.receivedAt) / 2
  /** The value of `aheadMs` at the last reading. */
  let measuredAheadMs = aheadMs
  let wallAheadMs = firstReading.wallAt - firstReading.receivedAt
  /** The difference between the server's clock and the wall clock when `aheadMs` was last correct. */
  let skewMs = aheadMs - wallAheadMs
  let settledAt = Number.NEGATIVE_INFINITY
  return {
    now: () => Math.floor(monotonicMs() + aheadMs),
    note({ at, sentAt, receivedAt, wallAt }) {
      measuredAheadMs = clamp(aheadMs, at - receivedAt, at - sentAt)
      wallAheadMs = wallAt - receivedAt
      const changeMs = measuredAheadMs - aheadMs
      const hasSlept = changeMs > 0 && Math.abs(measuredAheadMs - wallAheadMs - skewMs) <= maxStepMs
      if (!hasSlept && maxStepMs < Math.abs(changeMs) && Math.abs(changeMs) <= maxGradualMs) {
        aheadMs += Math.sign(changeMs) * maxStepMs
        return
      }
      if (changeMs > maxStepMs) settledAt = monotonicMs() + settleMs
      aheadMs = measuredAheadMs
      skewMs = aheadMs - wallAheadMs
    },
    behindMs() {
      const sleptMs = Math.max(0, wallMs() - monotonicMs() - wallAheadMs)
      return Math.ceil(Math.max(0, measuredAheadMs - aheadMs + sleptMs))
    },
    settlingMs: () => Math.max(0, settledAt - monotonicMs()),
  }
}

function clamp(value: number, min: number, max: number): number {
  return Math.min(Math.max(value, min), max)
}
