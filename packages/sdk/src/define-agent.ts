import type { Agent } from '@postern/core'

/** What the module of an agent exports, by default or member by member. */
export interface AgentModule extends Agent {
  /**
   * Called once: when the gateway stops, or when the last turn of a version of the module has ended that `postern dev` has replaced.
   *
   * @example
   * const database = openDatabase()
   * export default defineAgent({ handle: message => answer(message, database), close: () => database.close() })
   */
  close?(): void | Promise<void>
}

/**
 * Names the type of an agent, so that an editor completes its members. It returns what it is given.
 *
 * @example
 * // agents/desk.ts
 * import { defineAgent } from 'postern'
 *
 * export default defineAgent({
 *   handle(message, context) {
 *     const [part] = message.parts
 *     return part?.kind === 'text' ? `You said: ${part.content}` : undefined
 *   },
 * })
 */
export function defineAgent(agent: AgentModule): AgentModule {
  return agent
}
