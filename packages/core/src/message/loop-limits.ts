/**
 * The flag of a message whose sender is a program: an agent, a bot. Its author declares it, or its transport shows it.
 */
export const agentFlag = 'from_agent'

/** The flag of a message that a loop guard holds back: stored, shown to the operator, given to no agent. */
export const loopFlag = 'loop_guard'

/** The chain of agents has become too long. */
export const hopFlag = 'hop_limit'

export const stopFlags = [loopFlag, hopFlag] as const

export type StopFlag = (typeof stopFlags)[number]

/** When agents that talk to each other are stopped. All of it is per thread, but for `pairTurns`. */
export interface LoopLimits {
  /** Turns of agents in an hour. */
  readonly agentTurns: number
  /** Turns of one agent with another in an hour, in whatever threads: each post may begin a new one. */
  readonly pairTurns: number
  /** Turns of agents in a row without a word of a person in between. */
  readonly turnsWithoutPerson: number
  /** Turns in a row of an agent with the same words; for other senders twice as many. */
  readonly similarTurns: number
}

export const defaultLoopLimits: LoopLimits = { agentTurns: 10, pairTurns: 60, turnsWithoutPerson: 20, similarTurns: 3 }
