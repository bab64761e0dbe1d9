// Finds a person's conversations with an agent, including those on other channels.
import { allowsAny, defaultScopes } from '@postern/http/tokens'
import type { Json, MentionRelay } from '@postern/message'
import { Rejection } from '@postern/message'
import type { OwnThread, OwnThreadFilter } from '@postern/pipeline'
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

export interface ConversationKey {
  readonly owner: WebOwner
  readonly agent: string
  readonly threadId: string
}

/** Binds a conversation of another channel to a thread of the chat, without copying it. */
export async function joinConversation(
  { owner, agent, threadId }: ConversationKey,
  id: number,
  deps: WebDeps,
): Promise<Conversation> {
  const { gateway, transcript } = deps
  const alias = { transport: 'desk', key: String(id) }
  const scopesOfOwner = await listOwnScopes(owner, agent, deps)
  const ownThread = await gateway.store.findOwnThread(scopesOfOwner, id)
  if (!ownThread || !threadId.startsWith(`${ownThread.via}:`)) {
    const thread = await transcript.findThread(owner.owner, alias)
    if (thread) await transcript.forget(thread)
    throw new Rejection('no_recipient', 'Cannot find thread: there is no conversation of this name')
  }
  const thread = await transcript.openThread(owner.owner, alias)
  const channel = findChannel(gateway.channels, ownThread.via)
  await transcript.bindStore(thread, id, scopesOfOwner.subjects)
  const findTarget = async () => {
    // The person's address may have been unlinked while the run was being read.
    const target = await gateway.store.readLastTarget(await listOwnScopes(owner, agent, deps), id)
    return target === undefined ? undefined : channel?.conversations?.retarget?.(target)
  }
  return {
    thread,
    joined: { ...ownThread, mentionRelay: channel?.descriptor.mentionRelay ?? { kind: 'none' }, findTarget },
  }
}

/** Lists the scopes and subjects of a person: their chats, and their conversations with the agent from linked addresses. */
export async function listOwnScopes(owner: WebOwner, agent: string, deps: FindThreadDeps): Promise<OwnThreadFilter> {
  const { isLinking, gateway } = deps
  const identity = { via: 'web', address: owner.address, subject: owner.owner } as const
  const person = isLinking(agent) ? await gateway.store.findPerson(agent, identity) : undefined
  const linkedScopes = (person?.addresses ?? []).flatMap(({ via, subject }) =>
    via === 'web' || subject === undefined ? [] : [{ via, subject }],
  )
  const scopes = linkedScopes.flatMap(({ via, subject }) => {
    const scope = findChannel(gateway.channels, via)?.conversations?.privateScope?.(subject)
    return scope === undefined ? [] : [{ via, scope }]
  })
  const ownScope = { via: 'web', scope: owner.owner } as const
  return {
    agent,
    scopes: [ownScope, ...listCallScopes(owner, deps), ...scopes],
    subjects: [owner.owner, ...linkedScopes.map(({ subject }) => subject)],
  }
}

type FindThreadDeps = Pick<WebDeps, 'isLinking' | 'gateway' | 'scopes'>

/**
 * Lists the scopes of the person's calls over other channels. A caller there is the same person if its token has the same issuer and subject
 * and this token may read calls. Tokens that the gateway issues name agents and keys, so they never match.
 */
function listCallScopes(owner: WebOwner, { gateway: { agents, channels }, scopes }: FindThreadDeps) {
  const { issuer, subject } = owner
  const mayShow = issuer !== agents.origin && allowsAny(owner, [scopes?.GetTask ?? defaultScopes.GetTask])
  if (!mayShow) return []
  return channels.flatMap(({ descriptor }) => {
    const scope = descriptor.speaker.scopeOfToken?.(issuer, subject)
    return scope === undefined ? [] : [{ via: descriptor.name, scope }]
  })
}
