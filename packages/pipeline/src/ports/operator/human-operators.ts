// Declares the operators of a gateway, who answer the questions of agents.

/** The operators, who answer the questions of agents. */
export interface HumanOperators {
  /** Asks a human and resolves with the answer. Rejects when the signal aborts. */
  ask(question: OperatorQuestion): Promise<string>
  /** Passes a human's answer to the question with this id. Returns false if nobody waits for it, or if it was answered before. */
  answer(id: string, text: string): Promise<boolean>
}

/** A question of an agent to its operators. */
export interface OperatorQuestion {
  readonly agent: string
  /** The member of the agent that asks, if several agents share an address. */
  readonly member: string
  /** The person who waits for the agent. */
  readonly from: string
  readonly text: string
  readonly correlationId: string
  /** The mailbox that also gets the question; absent if it is not mailed. */
  readonly mail?: string | undefined
  readonly signal: AbortSignal
}
