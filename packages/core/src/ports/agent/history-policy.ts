import type { HistoricalMessage } from '../../message/message.ts'
import type { KeptNote } from '../records/note.ts'
import type { Entry } from '../records/transcript.ts'

/** The view of the past that an agent gets. */
export interface HistoryView {
  /**
   * Oldest first, roles alternating. A turn of several writers bears the first one's name; where another one goes on, a text part names
   * them, and `writers` has the proof of each. The last may be the other side's: what nobody answered.
   */
  readonly turns: readonly HistoricalMessage[]
  /** Index of the last turn of the stable head, where a prompt cache may break; absent while there is no closed head. */
  readonly cacheBreakpointAfter?: number | undefined
}

export interface HistoryPolicy {
  /** How much of a thread has to be read for this policy. */
  readonly reach: { readonly head: number; readonly tail: number }
  /** How many notes of the thread are to be read for it; absent: none. */
  readonly noteReach?: number | undefined
  /** The agent's answer in a phase is noted as its result. */
  readonly synthesizes?: boolean | undefined
  /** `entries` in the order of the conversation, as the store gives them. Pure, and not asked for a conversation that begins. */
  view(entries: readonly Entry[], moment?: HistoryMoment): HistoryView
}

/** For whom, and when, the past is looked at. */
export interface HistoryMoment {
  /** The agent's name. */
  readonly agent: string
  readonly phase_id?: number | undefined
  readonly previous_phase_id?: number | undefined
  /** Oldest first. */
  readonly notes: readonly KeptNote[]
}
