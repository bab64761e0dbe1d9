// Finds the actors and inboxes of people whom an answer mentions.
import { Rejection, Unavailable, Undeliverable } from '@postern/message'
import type { Delivery, RelationStore } from '@postern/pipeline'
import { parseIri } from '../format/iri.ts'
import type { DeliveryDestination } from '../format/post-data.ts'
import type { ActorCache } from '../peers/actor-cache.ts'
import type { RemoteActor } from '../peers/actor-document.ts'
import type { MentionedPerson } from '../text/mention.ts'
import type { Handles } from '../webfinger/handles.ts'

interface MentionDeps {
  readonly handles: Pick<Handles, 'resolve'>
  readonly actors: Pick<ActorCache, 'find'>
  readonly store: Pick<RelationStore, 'findRelation'>
}

export type Inbox = Extract<DeliveryDestination, { readonly inbox: string }>

/** Finds the inbox of a person whom an answer mentions. @throws Unavailable, Undeliverable */
export async function findMentionedInbox(
  { agent }: Pick<Delivery, 'agent'>,
  target: Extract<DeliveryDestination, { readonly mention: string }>,
  deps: MentionDeps,
): Promise<Inbox> {
  const actor = await findMentionedActor(target, deps)
  const key = { via: 'activitypub', agent, relation: 'blocked_by', peer: actor.id } as const
  if (await deps.store.findRelation(key))
    throw new Undeliverable('Cannot deliver: the one mentioned has blocked the agent')
  if (!actor.inbox) throw new Undeliverable('Cannot deliver: the one mentioned has no inbox')
  return { inbox: actor.inbox, peer: actor.id }
}

export function toMentionedPerson({ id, url }: RemoteActor, name: string): MentionedPerson {
  return { href: id, name, url: url ?? id }
}

/** Finds the actor of a person whom an answer mentions. @throws Unavailable, Undeliverable */
export async function findMentionedActor(
  { mention, isNamed }: { readonly mention: string; readonly isNamed?: boolean | undefined },
  { handles, actors }: Pick<MentionDeps, 'handles' | 'actors'>,
): Promise<RemoteActor> {
  try {
    const actor = await actors.find(
      parseIri(await handles.resolve(mention, { isRateLimited: isNamed }), 'the one mentioned'),
    )
    if (actor) return actor
  } catch (error) {
    if (error instanceof Rejection && error.code === 'rate_limited')
      throw new Unavailable(error.message, { cause: error })
    if (!(error instanceof Rejection)) throw error
  }
  throw new Undeliverable('Cannot deliver: the one mentioned is gone or cannot be read')
}
