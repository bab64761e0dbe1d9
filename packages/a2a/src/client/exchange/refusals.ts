import { Undeliverable } from '@postern/core'

/** Why the gateway does not call an agent: its card or its answer is invalid. */
export function refuseAgent(problem: string, cause?: unknown): Undeliverable {
  return new Undeliverable(`Cannot call agent: ${problem}`, { cause })
}

/** The answer breaks the protocol: A2A's InvalidAgentResponse (-32006). */
export function refuseAnswer(problem: string, cause?: unknown): Undeliverable {
  return refuseAgent(`its answer is not valid (${problem})`, cause)
}

/** The agent answered with an error, so it did not accept the call. `code` is that of JSON-RPC or the HTTP status. */
export class ErrorAnswer extends Undeliverable {
  readonly code: unknown

  constructor(code: unknown, told: string) {
    super(`Cannot call agent: it answered with ${told}`)
    this.code = code
  }
}
