import type { Json } from '@postern/core'
import { ConfigError } from '@postern/core'
import type { StoreMessage, StoreMessageType } from './message.ts'

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

interface StoreMemoryOptions {
  readonly store: MessageStore
  readonly location: string
  readonly agent_key: string
  /** Agents whose work a manager sees. */
  readonly subordinates?: readonly string[] | undefined
}

interface HistoryOptions {
  /** View after view, like the framework, or merged by time. Default `blocks`. */
  readonly order?: 'blocks' | 'timeline' | undefined
  /** For each of the views. */
  readonly view?: ViewOptions | undefined
}

/** What one agent remembers of one location. Unlike the original, it stores what it gets. */
interface StoreMemory {
  readonly location: string
  readonly agent_key: string
  /** Conversation, own work, subordinates' work (for a manager), broadcasts. */
  listHistory(options?: HistoryOptions): Promise<readonly StoreMessage[]>
  /** Stores a message under this agent. @throws Rejection malformed */
  add(message: unknown): Promise<StoreMessage>
  /** Stores a broadcast for every agent of the location. A value that is no message becomes a `global_observation`. */
  addGlobal(message: Json): Promise<StoreMessage>
}

/** @throws ConfigError for a store, location or key that is missing */
export function createStoreMemory({ store, location, agent_key, subordinates = [] }: StoreMemoryOptions): StoreMemory {
  requireOption('message_store', store)
  requireOption('location', location)
  requireOption('agent_key', agent_key)

  async function add(message: unknown): Promise<StoreMessage> {
    const [added] = await store.add(location, [message], agent_key)
    if (!added) throw new TypeError('a store gives back what it stored')
    return added
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

/** Equal times keep the order of the blocks. */
function sortByTime(messages: readonly StoreMessage[]): readonly StoreMessage[] {
  const timeOf = ({ timestamp }: StoreMessage) => {
    return typeof timestamp === 'string' ? Date.parse(timestamp) / 1000 || 0 : Number(timestamp ?? 0)
  }
  return messages.toSorted((a, b) => timeOf(a) - timeOf(b))
}

function requireOption(name: string, value: unknown): void {
  if (!value) throw new ConfigError(name, 'a memory over a message store needs it', `Give ${name}`)
}
