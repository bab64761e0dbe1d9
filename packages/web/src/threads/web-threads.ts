// Finds the threads of chats, and conversations elsewhere that a chat shows.
import type { ThreadAlias, ThreadKey } from '@postern/transcript'
import type { WebDeps } from '../endpoint.ts'
import type { Conversation, ConversationKey } from './own-threads.ts'
import { joinConversation } from './own-threads.ts'
import { parseThreadName } from './thread-name.ts'

/**
 * Finds the conversation of a chat. It returns undefined for a chat without messages.
 * @throws Rejection no_recipient for a conversation of another channel that the person may not read (any more)
 */
export async function findWebConversation(name: ConversationKey, deps: WebDeps): Promise<Conversation | undefined> {
  const { owner, agent, threadId } = name
  const otherThread = parseThreadName(threadId, deps)
  if (otherThread) return joinConversation(name, otherThread.id, deps)
  const thread = await findWebThread({ owner: owner.owner, agent, threadId }, deps)
  return thread && { thread }
}

interface ChatThread {
  readonly owner: string
  readonly agent: string
  readonly threadId: string
}

/**
 * Finds the thread of a person with an agent, bound to the store's conversation, or returns undefined if there is none.
 * A thread may have been imported before the first message; the store's messages still belong to it.
 */
export async function findWebThread(
  { owner, agent, threadId }: ChatThread,
  { transcript }: Pick<WebDeps, 'transcript'>,
): Promise<ThreadKey | undefined> {
  const alias = aliasOfChat(agent, threadId)
  const conversation = { agent, via: 'web', scope: owner, key: threadId }
  const { thread, hasConversation } = await transcript.findBinding(owner, alias, conversation)
  if (thread) {
    await transcript.bindStore(thread, conversation)
    return thread
  }
  // A read writes nothing.
  return hasConversation ? transcript.openBound(owner, alias, conversation) : undefined
}

/** Opens the thread of a chat after its first message was stored. */
export async function openWebThread(
  { owner, agent, threadId }: ChatThread,
  { transcript }: Pick<WebDeps, 'transcript'>,
): Promise<void> {
  const conversation = { agent, via: 'web', scope: owner, key: threadId }
  await transcript.openBound(owner, aliasOfChat(agent, threadId), conversation)
}

/** Returns the transcript's alias of a chat. */
export function aliasOfChat(agent: string, threadId: string): ThreadAlias {
  return { transport: 'web', key: JSON.stringify([agent, threadId]) }
}
