import type { StoreMessage } from './message.ts'
import type { StoreMessageType } from './message-types.ts'

export interface ViewOptions {
  /** The oldest messages, this many; 0 or absent is all. */
  readonly limit?: number | undefined
  /** The newest messages, this many, still ascending, in place of `limit`; 0 or absent is all. Our own option. */
  readonly tail?: number | undefined
}

export interface AgentViewOptions extends ViewOptions {
  /** Only these types. Absent: all of an agent's, plans and contexts too. */
  readonly types?: readonly StoreMessageType[] | undefined
}

export interface TeamViewOptions extends AgentViewOptions {
  /** Whether limits count in all, as in the published example, or for each agent. Default `total`. Our own option. */
  readonly limit_scope?: 'total' | 'per_agent' | undefined
}

/**
 * The four views of a message store (`BaseMessageStore`): ascending in time, which is the order in which they were stored. A
 * location is any text; nothing of one location shows in another.
 */
export interface MessageStore {
  listConversation(location: string, options?: ViewOptions): Promise<readonly StoreMessage[]>
  /** The agent's actions and thoughts, without conversation and broadcasts. */
  listAgent(location: string, agent_key: string, options?: AgentViewOptions): Promise<readonly StoreMessage[]>
  listGlobal(location: string, options?: ViewOptions): Promise<readonly StoreMessage[]>
  /** Messages of several agents, merged, each with its `agent_key`. No agents, no messages. */
  listTeam(location: string, agent_keys: readonly string[], options?: TeamViewOptions): Promise<readonly StoreMessage[]>
  /** @throws Rejection malformed, naming the member */
  add(location: string, messages: readonly unknown[], agent_key?: string): Promise<readonly StoreMessage[]>
}

/** The six types of the published example of an agent's view. */
export const seedAgentTypes: readonly StoreMessageType[] = [
  'task',
  'action',
  'observation',
  'error',
  'final',
  'delegation',
]
