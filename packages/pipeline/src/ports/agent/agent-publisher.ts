// Declares the functions of an agent that speaks without being asked.

import type { ActRefusal, GivenPart, Log, Reaction } from '@postern/message'
import type { PostOptions } from './agent-context.ts'

/** The actions of agents that speak without being asked. Each promise resolves once its action is durable. */
export interface AgentPublisher {
  /** Publishes a post and returns its id. For an impossible action, this and the other functions return a refusal, which the operator also sees. */
  post(content: string | readonly GivenPart[], options?: PostOptions): Promise<string | ActRefusal>
  /**
   * Continues a conversation over its own channel, even long after its last message. `thread` is its `thread_id`. Returns the reply's id.
   */
  reply(thread: string, content: string | readonly GivenPart[]): Promise<string | ActRefusal>
  edit(response: string, content: string | readonly GivenPart[]): Promise<ActRefusal | undefined>
  delete(response: string): Promise<ActRefusal | undefined>
  react(reaction: Reaction, message: string): Promise<ActRefusal | undefined>
  /** Aborts on shutdown. */
  readonly signal: AbortSignal
  readonly log: Log
}
