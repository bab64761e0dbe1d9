// Describes a leased turn: one run of an agent for one message.

import type { ChannelName, Json, NormalizedMessage } from '@postern/message'
import type { TaskKey } from '../task.ts'

/** A leased turn of one agent. `token` is a fencing token: a commit with an outdated one fails with `LeaseLost`. */
export interface Turn {
  readonly message: number
  readonly token: number
  /** The number of the attempt, 1 for the first. */
  readonly attempt: number
  /** The time at which the turn, or earlier work of its thread, first failed or was postponed, in ms; absent if that has not happened. */
  readonly firstAttemptAt?: number | undefined
  /** The number of process crashes during the turn: 1 after the first, and one more for each while it ran alone. */
  readonly crashes: number
  readonly agent: string
  readonly via: ChannelName
  /** The message without `history`; `raw` is rebuilt from the stored bytes when it is first read. */
  readonly content: NormalizedMessage
  readonly thread: number
  readonly target: Json
  readonly flags: readonly string[]
  readonly correlationId: string
  readonly task?: TaskKey | undefined
  /** Earlier messages that this turn also answers, oldest first; their parts come first in `content.parts`. */
  readonly merged?: readonly number[] | undefined
  /** True if the message of the turn began its thread; absent if the store does not know. */
  readonly isFirst?: boolean | undefined
  /**
   * Resolves when the message is durable, if the turn began before that. It rejects with `LeaseLost` if the message was not stored. Absent for a turn
   * whose message is durable.
   */
  readonly whenStored?: Promise<void> | undefined
  /** The number of edits of its content since it arrived; absent if there are none. */
  readonly revision?: number | undefined
}

/** Returns the number of the first message that a turn answers; earlier messages are its past. */
export function beginningOf({ message, merged }: Pick<Turn, 'message' | 'merged'>): number {
  return merged?.[0] ?? message
}
