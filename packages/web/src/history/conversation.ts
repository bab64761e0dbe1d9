import type { Json, MentionRelay, OwnThread } from '@postern/core'
import { findChannel, Rejection } from '@postern/core'
import type { ThreadKey } from '@postern/transcript'
import type { WebDeps } from '../deps.ts'
import type { WebOwner } from '../speaker.ts'
import { listOwnPlaces, parseThreadName } from './own-threads.ts'
import { findWebThread } from './web-thread.ts'

/** A thread of the chat, and where it is one of another channel, what goes on there. */
export interface Conversation {
  readonly thread: ThreadKey
  readonly joined?: JoinedConversation | undefined
}

interface JoinedConversation extends OwnThread {
  readonly mentionRelay: MentionRelay
  /** What an answer takes there; undefined when none can be given. */
  findTarget(): Promise<Json | undefined>
}

interface ConversationName {
  readonly owner: WebOwner
  readonly agent: string
  readonly threadId: string
}

/** Undefined for a chat in which nothing has been said yet. @throws Rejection no_recipient for what began elsewhere and is not his (any more) */
export async function findWebConversation(name: ConversationName, deps: WebDeps): Promise<Conversation | undefined> {
  const { owner, agent, threadId } = name
  const elsewhere = parseThreadName(threadId, deps)
  if (elsewhere) return joinConversation(name, elsewhere.id, deps)
  const thread = await findWebThread({ owner: owner.owner, agent, threadId }, deps)
  return thread && { thread }
}

/** Nothing of it is copied. */
async function joinConversation(
  { owner, agent, threadId }: ConversationName,
  id: number,
  deps: WebDeps,
): Promise<Conversation> {
  const { gateway, transcript } = deps
  const alias = { transport: 'desk', key: String(id) }
  const whose = await listOwnPlaces(owner, agent, deps)
  const own = await gateway.store.findOwnThread(whose, id)
  if (!own || !threadId.startsWith(`${own.via}:`)) {
    const known = await transcript.findThread(owner.owner, alias)
    if (known) await transcript.forget(known)
    throw new Rejection('no_recipient', 'Cannot find thread: there is none of this name')
  }
  const thread = await transcript.openThread(owner.owner, alias)
  const channel = findChannel(gateway.channels, own.via)
  await transcript.bindStore(thread, id, whose.subjects)
  const findTarget = async () => {
    // He may have been unlinked while his run was being read.
    const target = await gateway.store.readLastTarget(await listOwnPlaces(owner, agent, deps), id)
    return target === undefined ? undefined : channel?.retarget?.(target)
  }
  return { thread, joined: { ...own, mentionRelay: channel?.descriptor.mentionRelay ?? { kind: 'none' }, findTarget } }
}
