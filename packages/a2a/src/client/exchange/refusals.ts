import { Undeliverable } from '@postern/core'

/** Why an agent elsewhere is not called: its card or its answer is not as it must be. */
export function refuseAgent(problem: string, cause?: unknown): Undeliverable {
  return new Undeliverable(`Cannot call agent: ${problem}`, { cause })
}

/** The answer breaks the protocol: A2A's InvalidAgentResponse (-32006). */
export function refuseAnswer(problem: string, cause?: unknown): Undeliverable {
  return refuseAgent(`its answer is not valid (${problem})`, cause)
}

/** It answered with an error, so that it has not taken the call. `code`: of JSON-RPC, or the status of HTTP. */
export class ErrorAnswer extends Undeliverable {
  readonly code: unknown

  constructor(code: unknown, told: string) {
    super(`Cannot call agent: it answered with ${told}`)
    this.code = code
  }
}
