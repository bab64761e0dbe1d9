import type { ChannelName, OwnThread, OwnThreads } from '@postern/core'
import { findChannel } from '@postern/core'
import { allowsAny, defaultScopes } from '@postern/http/tokens'
import type { WebDeps } from '../deps.ts'
import type { WebOwner } from '../identity/speaker.ts'

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

/** The thread's id in a chat: its own, or the channel and number of a conversation elsewhere. */
export function nameThread({ via, key, id }: Pick<OwnThread, 'via' | 'key' | 'id'>): string {
  return via === 'web' ? key : `${via}:${id}`
}

/** Parses such an id of a conversation elsewhere. No chat has an id of this form. */
export function parseThreadName(
  threadId: string,
  { gateway }: Pick<WebDeps, 'gateway'>,
): { readonly via: ChannelName; readonly id: number } | undefined {
  const [, via, id] = /^([a-z][a-z0-9-]*):([1-9]\d{0,14})$/.exec(threadId) ?? []
  const isOther = gateway.channels.some(({ descriptor }) => descriptor.name === via && !descriptor.speaker.isChat)
  return via !== undefined && isOther ? { via, id: Number(id) } : undefined
}
