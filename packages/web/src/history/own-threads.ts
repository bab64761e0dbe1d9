import type { ChannelName, OwnThread, OwnThreads } from '@postern/core'
import { findChannel } from '@postern/core'
import { allowsAny, defaultScopes } from '@postern/http/tokens'
import type { WebDeps } from '../deps.ts'
import type { WebOwner } from '../speaker.ts'

/** What somebody who chats may see with an agent: his chats, and what he has said to it from the addresses that are linked with him. */
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
 * Who calls with a token of the same issuer and the same subject is the same, as far as the token may read calls. What we issue
 * ourselves names agents and keys.
 */
function listCalls(owner: WebOwner, { gateway: { agents, channels }, scopes }: OwnThreadDeps) {
  const { issuer, subject } = owner
  const isShown = issuer !== agents.origin && allowsAny(owner, [scopes?.GetTask ?? defaultScopes.GetTask])
  if (!isShown) return []
  return channels.flatMap(({ name, descriptor }) => {
    const scope = descriptor.speaker.scopeOfToken?.(issuer, subject)
    return scope === undefined ? [] : [{ via: name, scope }]
  })
}

/** The thread id under which a chat has it: its own, or one that tells whence it is. */
export function nameThread({ via, key, id }: Pick<OwnThread, 'via' | 'key' | 'id'>): string {
  return via === 'web' ? key : `${via}:${id}`
}

/** Such an id of a conversation that began elsewhere. No chat is named like one. */
export function parseThreadName(
  threadId: string,
  { gateway }: Pick<WebDeps, 'gateway'>,
): { readonly via: ChannelName; readonly id: number } | undefined {
  const [, via, id] = /^([a-z][a-z0-9-]*):([1-9]\d{0,14})$/.exec(threadId) ?? []
  const isOther = gateway.channels.some(({ name, descriptor }) => name === via && !descriptor.speaker.isChat)
  return via !== undefined && isOther ? { via, id: Number(id) } : undefined
}
