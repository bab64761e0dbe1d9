// Names the flags of messages between programs, and bounds their loops.

/**
 * The flag of a message whose sender is a program: an agent, a bot. Its author declares it, or its transport shows it.
 */
export const agentFlag = 'from_agent'

/** The flag of a message that a loop guard holds back: stored, shown to the operator, given to no agent. */
export const loopFlag = 'loop_guard'

/** The flag of a message whose chain of agents has become too long. */
export const hopFlag = 'hop_limit'

export const stopFlags = [loopFlag, hopFlag] as const

export type StopFlag = (typeof stopFlags)[number]

/** The limits that stop agents from talking to each other without end. All of them count per thread, except `pairTurns`. */
export interface LoopLimits {
  /** Turns of agents in an hour. */
  readonly agentTurns: number
  /** Turns of one agent with another in an hour, in whatever threads: each post may begin a new one. */
  readonly pairTurns: number
  /** Turns of agents in a row without a word of a person in between. */
  readonly turnsWithoutPerson: number
  /** Turns in a row with the same words from an agent; other senders get twice as many. */
  readonly similarTurns: number
}

export const defaultLoopLimits: LoopLimits = { agentTurns: 10, pairTurns: 60, turnsWithoutPerson: 20, similarTurns: 3 }
