import type { Delivery, RelationStore } from '@postern/core'
import { Rejection, Unavailable, Undeliverable } from '@postern/core'
import { parseIri } from '../format/document.ts'
import type { DeliveryPlace } from '../format/post-data.ts'
import type { RemoteActor } from '../peers/actor-document.ts'
import type { Handles, RemoteActors } from '../peers/known-peers.ts'
import type { Mentioned } from '../words/words.ts'

interface MentionDeps {
  readonly handles: Pick<Handles, 'resolve'>
  readonly actors: Pick<RemoteActors, 'find'>
  readonly store: Pick<RelationStore, 'findRelation'>
}

export type Inbox = Extract<DeliveryPlace, { readonly inbox: string }>

/** The inbox of a person whom an answer mentions. @throws Unavailable, Undeliverable */
export async function findMentionedInbox(
  { agent }: Pick<Delivery, 'agent'>,
  target: Extract<DeliveryPlace, { readonly mention: string }>,
  parts: MentionDeps,
): Promise<Inbox> {
  const actor = await findMentioned(target, parts)
  const key = { via: 'activitypub', agent, relation: 'blocked_by', peer: actor.id } as const
  if (await parts.store.findRelation(key))
    throw new Undeliverable('Cannot deliver: the one mentioned has blocked the agent')
  if (!actor.inbox) throw new Undeliverable('Cannot deliver: the one mentioned has no inbox')
  return { inbox: actor.inbox, peer: actor.id }
}

export function toMentioned({ id, url }: RemoteActor, name: string): Mentioned {
  return { href: id, name, url: url ?? id }
}

/** The actor of a person whom an answer mentions. @throws Unavailable, Undeliverable */
export async function findMentioned(
  { mention, isNamed }: { readonly mention: string; readonly isNamed?: boolean | undefined },
  { handles, actors }: Pick<MentionDeps, 'handles' | 'actors'>,
): Promise<RemoteActor> {
  try {
    const actor = await actors.find(
      parseIri(await handles.resolve(mention, { isCounted: isNamed }), 'the one mentioned'),
    )
    if (actor) return actor
  } catch (error) {
    if (error instanceof Rejection && error.code === 'rate_limited')
      throw new Unavailable(error.message, { cause: error })
    if (!(error instanceof Rejection)) throw error
  }
  throw new Undeliverable('Cannot deliver: the one mentioned is gone or cannot be read')
}
