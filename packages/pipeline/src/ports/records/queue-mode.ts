// Describes the ways in which messages wait while a turn of their thread runs.

/**
 * The handling of messages that arrive while a turn of their thread runs or waits. `queue`: each has its turn, in order.
 * `merge`: waiting messages of one sender become one turn. `interrupt`: a sender's newest message ends the turns of
 * their earlier ones.
 */
export const queueModes = ['queue', 'merge', 'interrupt'] as const

export type QueueModeName = (typeof queueModes)[number]

/** The way in which a message waits in its thread. If it is absent, the message waits in order. */
export interface QueueMode {
  readonly mode: Exclude<QueueModeName, 'queue'>
  /** The time for which its turn waits for more messages of the same sender, ms. */
  readonly windowMs?: number | undefined
}

/** The maximum number of messages, and the maximum number of bytes of their parts, that one turn answers. The next turn answers the rest. */
export const mergeBounds = { messages: 50, bytes: 256 * 1024 } as const

/**
 * The maximum number of consecutive runs that newer messages or edits may abort. The next run is left to finish, so that a flood of messages cannot
 * restart an agent endlessly.
 */
export const maxAborts = 5
