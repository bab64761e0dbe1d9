import type { ThreadAlias, ThreadKey } from '@postern/transcript'
import type { WebDeps } from '../deps.ts'

interface ThreadPlace {
  readonly owner: string
  readonly agent: string
  readonly threadId: string
}

/**
 * The thread of a person with an agent, bound to the store's conversation; undefined when there is none. A thread may have been imported
 * before the first message; the store's messages still belong to it.
 */
export async function findWebThread(
  { owner, agent, threadId }: ThreadPlace,
  { transcript }: Pick<WebDeps, 'transcript'>,
): Promise<ThreadKey | undefined> {
  const alias = aliasOfChat(agent, threadId)
  const conversation = { agent, via: 'web', scope: owner, key: threadId }
  const known = await transcript.findThread(owner, alias)
  // A read writes nothing.
  if (!known && !(await transcript.hasConversation(conversation))) return undefined
  const thread = known ?? (await transcript.openThread(owner, alias))
  const isBound = await transcript.bindStore(thread, conversation)
  if (isBound || known) return thread
  await transcript.forget(thread)
  return undefined
}

/** The thread of a chat whose first message is stored by now. */
export async function openWebThread(
  { owner, agent, threadId }: ThreadPlace,
  { transcript }: Pick<WebDeps, 'transcript'>,
): Promise<void> {
  const thread = await transcript.openThread(owner, aliasOfChat(agent, threadId))
  await transcript.bindStore(thread, { agent, via: 'web', scope: owner, key: threadId })
}

/** The transcript's alias of a chat. */
export function aliasOfChat(agent: string, threadId: string): ThreadAlias {
  return { transport: 'web', key: JSON.stringify([agent, threadId]) }
}
