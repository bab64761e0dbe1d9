// Declares the choice of past turns that an agent gets with a message.
import type { HistoricalMessage } from '@postern/message'
import type { StoredNote } from '../records/note.ts'
import type { Entry } from '../records/transcript.ts'

/** The view of the past that an agent gets. */
export interface HistoryView {
  /**
   * The turns, oldest first, with alternating roles. A turn of several writers has the name of the first one; a text part names each following
   * writer, and `writers` has the proof of each. The last turn may be the user's, if nobody has answered it.
   */
  readonly turns: readonly HistoricalMessage[]
  /** The index of the last turn of the stable head, after which a prompt cache may end; absent while there is no closed head. */
  readonly cacheBreakpointAfter?: number | undefined
}

export interface HistoryPolicy {
  /** The numbers of entries that the policy needs from the beginning and from the end of a thread. */
  readonly reach: { readonly head: number; readonly tail: number }
  /** The number of notes of the thread that the policy needs; absent if it needs none. */
  readonly noteReach?: number | undefined
  /** True if the agent's answer in a phase is recorded as the result of the phase. */
  readonly synthesizes?: boolean | undefined
  /** Returns the view of `entries`, which the store gives in the order of the conversation. It has no side effects, and is not called for a new conversation. */
  view(entries: readonly Entry[], moment?: HistoryMoment): HistoryView
}

/** The agent, phase and notes for which the past is viewed. */
export interface HistoryMoment {
  /** The agent's name. */
  readonly agent: string
  readonly phase_id?: number | undefined
  readonly previous_phase_id?: number | undefined
  /** The notes of the thread, oldest first. */
  readonly notes: readonly StoredNote[]
}
