// Asks the operators of a gateway a question of an agent, and waits for the answer.

/** The operators, who answer the questions of agents. */
export interface HumanOperators {
  /** Asks a human and resolves with the answer. Rejects when the signal aborts. */
  ask(question: OperatorQuestion): Promise<string>
  /** Passes a human's answer to the question with this id. Returns false if nobody waits for it (any more). */
  answer(id: string, text: string): Promise<boolean>
}

export interface OperatorQuestion {
  readonly agent: string
  /** The agent that asks, if several share the address. */
  readonly member: string
  /** The person who waits for the agent. */
  readonly from: string
  readonly text: string
  readonly correlationId: string
  /** The mailbox that gets the question instead of the default one. */
  readonly mail?: string | undefined
  readonly signal: AbortSignal
}
