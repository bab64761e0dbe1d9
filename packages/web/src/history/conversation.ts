import type { Json, MentionRelay, OwnThread } from '@postern/core'
import { findChannel, Rejection } from '@postern/core'
import type { ThreadKey } from '@postern/transcript'
import type { WebDeps } from '../deps.ts'
import type { WebOwner } from '../identity/speaker.ts'
import { listOwnPlaces, parseThreadName } from './own-threads.ts'
import { findWebThread } from './web-thread.ts'

/** A thread of the chat. `joined` is the conversation of another channel that it continues. */
export interface Conversation {
  readonly thread: ThreadKey
  readonly joined?: JoinedConversation | undefined
}

interface JoinedConversation extends OwnThread {
  readonly mentionRelay: MentionRelay
  /** What an answer needs in order to go there; undefined when the channel cannot answer. */
  findTarget(): Promise<Json | undefined>
}

interface ConversationName {
  readonly owner: WebOwner
  readonly agent: string
  readonly threadId: string
}

/**
 * Undefined for a chat without messages. @throws Rejection no_recipient for a conversation of another channel that the person may not read
 * (any more)
 */
export async function findWebConversation(name: ConversationName, deps: WebDeps): Promise<Conversation | undefined> {
  const { owner, agent, threadId } = name
  const elsewhere = parseThreadName(threadId, deps)
  if (elsewhere) return joinConversation(name, elsewhere.id, deps)
  const thread = await findWebThread({ owner: owner.owner, agent, threadId }, deps)
  return thread && { thread }
}

/** Reads the conversation where it is and copies nothing. */
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
    // The person may have been unlinked while their run was being read.
    const target = await gateway.store.readLastTarget(await listOwnPlaces(owner, agent, deps), id)
    return target === undefined ? undefined : channel?.retarget?.(target)
  }
  return { thread, joined: { ...own, mentionRelay: channel?.descriptor.mentionRelay ?? { kind: 'none' }, findTarget } }
}
