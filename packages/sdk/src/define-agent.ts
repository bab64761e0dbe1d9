import type { Agent, Part } from '@postern/core'

/** What the module of an agent exports, by default or member by member. */
export interface AgentModule extends Agent {
  /**
   * Called once: when the gateway stops, or when the last turn of a version of the module has ended that `postern dev` has replaced.
   *
   * @example
   * import { DatabaseSync } from 'node:sqlite'
   * import { defineAgent } from 'postern'
   *
   * const orders = new DatabaseSync('orders.db')
   *
   * export default defineAgent({
   *   handle: () => `There are ${orders.prepare('select count(*) as n from orders').get()?.n} orders.`,
   *   close: () => orders.close(),
   * })
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

/**
 * The text of a message, or of an entry of its history: texts and addresses of links, with an empty line between them.
 *
 * @example
 * import { defineAgent, readMessageText } from 'postern'
 *
 * export default defineAgent({ handle: message => `You said: ${readMessageText(message)}` })
 */
export function readMessageText({ parts }: { readonly parts: readonly Part[] }): string {
  return parts
    .flatMap(part => (part.kind === 'text' ? part.content : part.kind === 'link' ? part.url : []))
    .filter(Boolean)
    .join('\n\n')
}
