/**
 * The handling of messages that come while a turn of their thread runs or waits. `queue`: each has its turn, in order.
 * `merge`: waiting messages of one sender become one turn. `interrupt`: a sender's newest message ends the turns of
 * their earlier ones.
 */
export const queueModes = ['queue', 'merge', 'interrupt'] as const

export type QueueModeName = (typeof queueModes)[number]

/** How a message waits in the line of its thread; absent: in its order. */
export interface QueueMode {
  readonly mode: Exclude<QueueModeName, 'queue'>
  /** How long its turn waits for more of the same sender, ms. */
  readonly windowMs?: number | undefined
}

/** A turn answers so many messages at most, and so many bytes of parts; the next turn has the rest. */
export const mergeBounds = { messages: 50, bytes: 256 * 1024 } as const

/**
 * How many runs in a row may be broken off by newer messages or other words before one is left to finish: a flood of them
 * must not run an agent without end.
 */
export const maxAborts = 5

export const speakingKinds: ReadonlySet<string> = new Set(['message', 'edit'])
