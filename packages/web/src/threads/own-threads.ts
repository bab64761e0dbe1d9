import type { Json, MentionRelay, OwnThread, OwnThreads } from '@postern/core'
import { findChannel, Rejection } from '@postern/core'
import { allowsAny, defaultScopes } from '@postern/http/tokens'
import type { ThreadKey } from '@postern/transcript'
import type { WebDeps } from '../endpoint.ts'
import type { WebOwner } from '../verify.ts'

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

export interface ConversationName {
  readonly owner: WebOwner
  readonly agent: string
  readonly threadId: string
}

/** Reads the conversation where it is and copies nothing. */
export async function joinConversation(
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

/** The scopes and subjects of a person: their chats, and their conversations with the agent from linked addresses. */
export async function listOwnPlaces(owner: WebOwner, agent: string, deps: OwnThreadDeps): Promise<OwnThreads> {
  const { isLinking, gateway } = deps
  const identity = { via: 'web', address: owner.address, subject: owner.owner } as const
  const person = isLinking(agent) ? await gateway.store.findPerson(agent, identity) : undefined
  const linked = (person?.addresses ?? []).flatMap(({ via, subject }) =>
    via === 'web' || subject === undefined ? [] : [{ via, subject }],
  )
  const scopes = linked.flatMap(({ via, subject }) => {
    const scope = findChannel(gateway.channels, via)?.privateScope?.(subject)
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
 * A caller over another channel is the same person if its token has the same issuer and subject, and if this token may read calls. Tokens
 * that we issue name agents and keys, so they never match.
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
