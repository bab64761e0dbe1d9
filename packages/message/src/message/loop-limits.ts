// Names the flags of messages between programs, and the limits that stop their loops.

/**
 * The flag of a message whose sender is a program, such as an agent or a bot. The author declares this, or the transport shows it.
 */
export const agentFlag = 'from_agent'

/** The flag of a message that a loop guard stops. It is stored and shown to the operator, but no agent gets it. */
export const loopFlag = 'loop_guard'

/** The flag of a message whose chain of agents has become too long. */
export const hopFlag = 'hop_limit'

export const stopFlags = [loopFlag, hopFlag] as const

export type StopFlag = (typeof stopFlags)[number]

/** The limits that stop agents from talking to each other forever. All of them count per thread, except `pairTurns`. */
export interface LoopLimits {
  /** The maximum number of turns of agents in an hour. */
  readonly agentTurns: number
  /** The maximum number of turns of one agent with another in an hour, in all threads, because each post may begin a new thread. */
  readonly pairTurns: number
  /** The maximum number of turns of agents in a row without a message from a person. */
  readonly turnsWithoutPerson: number
  /** The maximum number of turns in a row with nearly the same text from an agent; other senders may have twice as many. */
  readonly similarTurns: number
}

export const defaultLoopLimits: LoopLimits = { agentTurns: 10, pairTurns: 60, turnsWithoutPerson: 20, similarTurns: 3 }
