// Types the module of an agent for editors, and reads the text of a message.
import type { Json } from '@postern/message'
import type { Agent, AgentContext } from '@postern/pipeline'
import type { AgentMessage, ReceivedPart } from './agent-message.ts'

/** The exports of an agent's module, as a default export or as separate members. `State` is the type of the data that it stores per conversation. */
export interface AgentModule<State = Json> extends Omit<Agent, 'handle'> {
  /**
   * Answers a message with a text, a part, a response, pieces of a stream, or nothing.
   *
   * @example
   * import { defineAgent } from 'postern'
   *
   * export default defineAgent({
   *   handle(message, context) {
   *     const mail = message.parts.find(part => part.kind === 'email')
   *     return mail ? `Your subject: ${mail.subject}` : context.call('@other@agents.example', 'No mail came.')
   *   },
   * })
   */
  handle(message: AgentMessage, context: AgentContext<State>): ReturnType<Agent['handle']>
  /**
   * Closes the module. The gateway calls it once, when it stops or after the last turn of a version that `postern dev` has replaced.
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
 * Declares the type of an agent, so that an editor completes its members, and returns the agent unchanged. `State` is the type of the data that
 * it stores per conversation, by default any JSON.
 *
 * @example
 * // agents/desk.ts
 * import { defineAgent } from 'postern'
 *
 * interface Visits {
 *   readonly count: number
 * }
 *
 * export default defineAgent<Visits>({
 *   async handle(message, context) {
 *     const count = ((await context.state.get())?.count ?? 0) + 1
 *     context.state.set({ count })
 *     const [part] = message.parts
 *     return part?.kind === 'text' ? `Message ${count} says: ${part.content}` : undefined
 *   },
 * })
 */
export function defineAgent<State = Json>(agent: AgentModule<State>): AgentModule<State> {
  return agent
}

/**
 * Reads the text of a message or of an entry of its history: its texts and the addresses of its links, separated by empty lines.
 *
 * @example
 * import { defineAgent, readMessageText } from 'postern'
 *
 * export default defineAgent({ handle: message => `You said: ${readMessageText(message)}` })
 */
export function readMessageText({ parts }: { readonly parts: readonly ReceivedPart[] }): string {
  return parts
    .flatMap(part => (part.kind === 'text' ? part.content : part.kind === 'link' ? part.url : []))
    .filter(Boolean)
    .join('\n\n')
}
