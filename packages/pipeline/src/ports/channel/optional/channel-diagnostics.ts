// Declares the checks of a channel that operators run: previews, replays and self-tests.
import type { Json, System } from '@postern/message'
import type { Intake } from '../../records/intake.ts'
import type { AnsweredTurn } from '../addressing.ts'
import type { ChannelStore } from '../channel-store.ts'
import type { SelfTestFetches, SelfTestResult } from './self-test.ts'

/** Everything that operators can try on a channel, for `postern replay`, `postern doctor` and the console. All members are optional. */
export interface ChannelDiagnostics {
  /**
   * Returns the documents that an answer would become if its message had arrived over this channel, in the form for operators. `turn.target` belongs
   * to another channel. Nothing is sent or looked up.
   */
  preview?(answered: AnsweredTurn): readonly Json[]
  /**
   * Verifies, resolves and normalizes a stored message, and stores nothing. Returns the intake that the agent would get now; undefined if it would
   * get none. Earlier messages have no influence. @throws Rejection, Unavailable
   */
  replay?(arrived: ArrivedMessage, conditions: ReplayConditions): Promise<Intake | undefined>
  /** Sends a test message to one of our agents over the usual route and returns its id, to check its arrival. @throws Unavailable, Undeliverable */
  probe?(): Promise<string>
  /**
   * Calls one of our agents at its public address like a peer, once with a valid proof and once with a forged one. The calls reach nobody and change
   * nothing. `fetches` reach the endpoint from outside, one for each call.
   */
  selfTest?(agent: string, fetches: SelfTestFetches): Promise<SelfTestResult>
}

/** A stored message, as its channel reads it again. */
interface ArrivedMessage {
  readonly agent: string
  /** The arrival data of its intake. */
  readonly arrival: Json
  readonly raw: Uint8Array
  /** The target of its intake, with the ids that the channel assigned then. */
  readonly target: Json
}

/** The clock, lookups and store as they were at the time of a stored message, in place of the channel's own. */
export interface ReplayConditions {
  readonly system: System
  readonly store: ChannelStore
}
