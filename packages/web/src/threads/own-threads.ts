// Finds a person's conversations with an agent, including those on other channels.
import { allowsAny, defaultScopes } from '@postern/http/tokens'
import type { Json, MentionRelay } from '@postern/message'
import { Rejection } from '@postern/message'
import type { OwnThread, OwnThreads } from '@postern/pipeline'
import { findChannel } from '@postern/pipeline'
import type { ThreadKey } from '@postern/transcript'
import type { WebDeps } from '../endpoint.ts'
import type { WebOwner } from '../verify.ts'

/** A thread of the chat. `joined` is the conversation on another channel that it continues. */
export interface Conversation {
  readonly thread: ThreadKey
  readonly joined?: JoinedConversation | undefined
}

interface JoinedConversation extends OwnThread {
  readonly mentionRelay: MentionRelay
  /** Returns the target of an answer on that channel, or undefined if the channel cannot answer. */
  findTarget(): Promise<Json | undefined>
}

export interface ConversationName {
  readonly owner: WebOwner
  readonly agent: string
  readonly threadId: string
}

/** Reads a conversation in its place, without copying it. */
export async function joinConversation(
  { owner, agent, threadId }: ConversationName,
  id: number,
  deps: WebDeps,
): Promise<Conversation> {
  const { gateway, transcript } = deps
  const alias = { transport: 'desk', key: String(id) }
  const whose = await listOwnScopes(owner, agent, deps)
  const own = await gateway.store.findOwnThread(whose, id)
  if (!own || !threadId.startsWith(`${own.via}:`)) {
    const thread = await transcript.findThread(owner.owner, alias)
    if (thread) await transcript.forget(thread)
    throw new Rejection('no_recipient', 'Cannot find thread: there is no conversation of this name')
  }
  const thread = await transcript.openThread(owner.owner, alias)
  const channel = findChannel(gateway.channels, own.via)
  await transcript.bindStore(thread, id, whose.subjects)
  const findTarget = async () => {
    // The person's address may have been unlinked while the run was being read.
    const target = await gateway.store.readLastTarget(await listOwnScopes(owner, agent, deps), id)
    return target === undefined ? undefined : channel?.conversations?.retarget?.(target)
  }
  return { thread, joined: { ...own, mentionRelay: channel?.descriptor.mentionRelay ?? { kind: 'none' }, findTarget } }
}

/** Lists the scopes and subjects of a person: their chats, and their conversations with the agent from linked addresses. */
export async function listOwnScopes(owner: WebOwner, agent: string, deps: OwnThreadDeps): Promise<OwnThreads> {
  const { isLinking, gateway } = deps
  const identity = { via: 'web', address: owner.address, subject: owner.owner } as const
  const person = isLinking(agent) ? await gateway.store.findPerson(agent, identity) : undefined
  const linked = (person?.addresses ?? []).flatMap(({ via, subject }) =>
    via === 'web' || subject === undefined ? [] : [{ via, subject }],
  )
  const scopes = linked.flatMap(({ via, subject }) => {
    const scope = findChannel(gateway.channels, via)?.conversations?.privateScope?.(subject)
    return scope === undefined ? [] : [{ via, scope }]
  })
  const own = { via: 'web', scope: owner.owner } as const
  return {
    agent,
    scopes: [own, ...listCalls(owner, deps), ...scopes],
    subjects: [owner.owner, ...linked.map(({ subject }) => subject)],
  }
}

type OwnThreadDeps = Pick<WebDeps, 'isLinking' | 'gateway' | 'scopes'>

/**
 * Lists the scopes of the person's calls over other channels. A caller there is the same person if its token has the same issuer and subject
 * and this token may read calls. Tokens that the gateway issues name agents and keys, so they never match.
 */
function listCalls(owner: WebOwner, { gateway: { agents, channels }, scopes }: OwnThreadDeps) {
  const { issuer, subject } = owner
  const isShown = issuer !== agents.origin && allowsAny(owner, [scopes?.GetTask ?? defaultScopes.GetTask])
  if (!isShown) return []
  return channels.flatMap(({ descriptor }) => {
    const scope = descriptor.speaker.scopeOfToken?.(issuer, subject)
    return scope === undefined ? [] : [{ via: descriptor.name, scope }]
  })
}
