// Describes the start of a run: the turn to follow, and what the client sees first.
import type { Interrupt } from '@ag-ui/core'
import type { ChatState } from '../events/chat-state.ts'
import type { WatchedTurn } from './follow-turn.ts'

/** The start of a run. */
export interface StartedRun {
  /** The turn to follow. It is absent if nothing is left to answer. */
  readonly watchedTurn: WatchedTurn | undefined
  readonly warnings: readonly string[]
  /** The stored messages, for a client that lacks some of them. */
  readonly snapshots: readonly (readonly object[])[]
  /** Reads the present messages, for a client that has received text which the history does not have. */
  readonly readMessages: () => Promise<readonly object[]>
  /** Reads the requirements that the conversation still waits for. */
  readonly readInterrupts: () => Promise<readonly Interrupt[]>
  /** The chat state of the last answer. */
  readonly state: ChatState | undefined
  /** True if the client only asked about something that an operator decides. */
  readonly isAsking: boolean
  /** True if the first snapshot has the answer already. */
  readonly isReported?: boolean | undefined
}
