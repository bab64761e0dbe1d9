// Declares the message store with its four views, and the memory of one agent over it.
import type { Json } from '@postern/message'
import { ConfigError } from '@postern/message'
import type { StoreMessage, StoreMessageType } from './message.ts'

export interface ViewOptions {
  /** The maximum number of messages, from the oldest. 0 or absent means all. */
  readonly limit?: number | undefined
  /** The maximum number of messages, from the newest but in ascending order. It replaces `limit`. 0 or absent means all. The published format lacks this option. */
  readonly tail?: number | undefined
}

export interface AgentViewOptions extends ViewOptions {
  /** The types to list. Absent means all messages of an agent, including plans and contexts. */
  readonly types?: readonly StoreMessageType[] | undefined
}

export interface TeamViewOptions extends AgentViewOptions {
  /** The scope of limits. `total` (default) limits all agents together, like the published example. The published format lacks this option. */
  readonly limit_scope?: 'total' | 'per_agent' | undefined
}

/**
 * The four views of a message store (`BaseMessageStore`), ascending by time, which is the order in which messages were stored. A
 * location is any text, and messages of one location never appear in another.
 */
export interface MessageStore {
  listConversation(location: string, options?: ViewOptions): Promise<readonly StoreMessage[]>
  /** Lists the agent's actions and thoughts, without conversation and broadcasts. */
  listAgent(location: string, agent_key: string, options?: AgentViewOptions): Promise<readonly StoreMessage[]>
  listGlobal(location: string, options?: ViewOptions): Promise<readonly StoreMessage[]>
  /** Lists messages of several agents, merged, each with its `agent_key`. Without agents the list is empty. */
  listTeam(location: string, agent_keys: readonly string[], options?: TeamViewOptions): Promise<readonly StoreMessage[]>
  /** Stores messages and returns them in their stored form. @throws Rejection malformed, naming the member */
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

interface StoreMemoryOptions {
  readonly store: MessageStore
  readonly location: string
  readonly agent_key: string
  /** The agents whose work a manager sees. */
  readonly subordinates?: readonly string[] | undefined
}

interface HistoryOptions {
  /** The order. `blocks` (default) lists one view after the other, like the framework. The other order merges the views by time. */
  readonly order?: 'blocks' | 'timeline' | undefined
  /** The options for each of the views. */
  readonly view?: ViewOptions | undefined
}

/** The memory of one agent in one location. Unlike the original, it stores the messages that it gets. */
interface StoreMemory {
  readonly location: string
  readonly agent_key: string
  /** Lists the conversation, the agent's own work, its subordinates' work (for a manager), and broadcasts. */
  listHistory(options?: HistoryOptions): Promise<readonly StoreMessage[]>
  /** Stores a message under this agent. @throws Rejection malformed */
  add(message: unknown): Promise<StoreMessage>
  /** Stores a broadcast for every agent of the location. A value that is no message becomes a `global_observation`. */
  addGlobal(message: Json): Promise<StoreMessage>
}

/** Creates the memory of one agent in one location. @throws ConfigError if the store, location or key is missing */
export function createStoreMemory({ store, location, agent_key, subordinates = [] }: StoreMemoryOptions): StoreMemory {
  requireOption('message_store', store)
  requireOption('location', location)
  requireOption('agent_key', agent_key)

  async function add(message: unknown): Promise<StoreMessage> {
    const [addedMessage] = await store.add(location, [message], agent_key)
    if (!addedMessage) throw new TypeError('a store gives back what it stored')
    return addedMessage
  }

  return {
    location,
    agent_key,
    async listHistory({ order = 'blocks', view = {} } = {}) {
      const blocks = await Promise.all([
        store.listConversation(location, view),
        store.listAgent(location, agent_key, view),
        ...(subordinates.length > 0 ? [store.listTeam(location, subordinates, view)] : []),
        store.listGlobal(location, view),
      ])
      return order === 'blocks' ? blocks.flat() : sortByTime(blocks.flat())
    },
    add,
    addGlobal(message) {
      const isBroadcast = isGlobalMessage(message)
      return add(isBroadcast ? message : { type: 'global_observation', content: message, from_worker: agent_key })
    },
  }
}

function isGlobalMessage(message: Json): boolean {
  if (typeof message !== 'object' || message === null || !('type' in message)) return false
  return message.type === 'global_observation' || message.type === 'synthesis'
}

/** Sorts messages by time. Messages with equal times keep the order of the blocks. */
function sortByTime(messages: readonly StoreMessage[]): readonly StoreMessage[] {
  const timeOf = ({ timestamp }: StoreMessage) => {
    return typeof timestamp === 'string' ? Date.parse(timestamp) / 1000 || 0 : Number(timestamp ?? 0)
  }
  return messages.toSorted((a, b) => timeOf(a) - timeOf(b))
}

function requireOption(name: string, value: unknown): void {
  if (!value) throw new ConfigError(name, 'a memory over a message store needs it', `Give ${name}`)
}
