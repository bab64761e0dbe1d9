// Declares the interface of an agent: it handles messages, and may also publish unasked and forget people.

import type { GivenPart, GivenResponse, NormalizedMessage, NormalizedResponse } from '@postern/message'
import type { AgentContext } from './agent-context.ts'
import type { AgentPublisher } from './agent-publisher.ts'
import type { ForgettingContext, ForgottenPerson } from './forgotten-person.ts'

export type AgentChunk = string | GivenPart | GivenResponse
export type AgentAnswer = string | GivenPart | GivenResponse | NormalizedResponse | undefined

/**
 * An agent, whose `handle` answers messages. `undefined` means no answer; a string is one Markdown text; an iterable is a streamed answer. Pieces with the
 * status `working` are shown at once and are not part of the answer.
 */
export interface Agent {
  /** Starts the agent. The gateway calls this function when the gateway begins to work, and again after a pause if it throws. */
  start?(publisher: AgentPublisher): void | Promise<void>

  /**
   * Deletes everything that the agent itself has stored about a person. The gateway repeats the call until it succeeds, even after a restart, so the
   * function may run twice for one person.
   *
   * @throws any error, so that the gateway calls it again later
   */
  forget?(forgotten: ForgottenPerson, context: ForgettingContext): void | Promise<void>

  handle(
    message: NormalizedMessage,
    context: AgentContext,
  ): AgentAnswer | AsyncIterable<AgentChunk> | Promise<AgentAnswer | AsyncIterable<AgentChunk>>
}
