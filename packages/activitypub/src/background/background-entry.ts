import type { BackgroundEntry, Part, RelationStore } from '@postern/core'
import { isoTime, Rejection, Unavailable, Undeliverable } from '@postern/core'
import type { Iri } from '../format/iri.ts'
import type { ReplyTarget } from '../format/reply-target.ts'
import type { RemoteActors } from '../peers/actor-cache.ts'
import type { RemoteActor } from '../peers/remote-actor.ts'
import type { RemotePost } from './remote-post.ts'

export interface EntryDeps {
  readonly actors: Pick<RemoteActors, 'find'>
  readonly store: Pick<RelationStore, 'findRelation'>
  now(): number
}

/** The readers of a post: the agent, and the sender whose message follows it. */
export interface Reader {
  readonly agent: string
  readonly sender: Pick<ReplyTarget, 'actor' | 'address'>
}

/**
 * A post as an entry of its own author. Undefined when the author cannot be found or blocks the agent. The handle is
 * the one that the author's server gives, without WebFinger: it is for show, and decides nothing.
 */
export async function toBackgroundEntry(
  post: RemotePost,
  { agent, sender }: Reader,
  { actors, store, now }: EntryDeps,
): Promise<BackgroundEntry | undefined> {
  const key = { via: 'activitypub', agent, relation: 'blocked_by', peer: post.author.href } as const
  const actor = (await store.findRelation(key)) ? undefined : await findAuthor(post.author, actors)
  if (!actor) return undefined
  const address = actor.id === sender.actor && sender.address ? sender.address : nameAuthor(actor)
  return {
    nativeId: post.id,
    author: { address, ...(actor.name && { display_name: actor.name }) },
    parts: post.parts,
    at: isoTime(saneTime(post.published, now())),
    principal: actor.id,
  }
}

/** Names the author within the text, for those who read the text alone. */
export function markQuoted(entry: BackgroundEntry): BackgroundEntry {
  const heading = `Quoted post, by ${entry.author.address}:`
  const mark = (part: Part): Part =>
    part.kind === 'text' ? { ...part, content: `${heading}\n\n${part.content}` } : part
  return { ...entry, parts: entry.parts.map(mark), isQuoted: true }
}

async function findAuthor(iri: Iri, actors: EntryDeps['actors']): Promise<RemoteActor | undefined> {
  try {
    return await actors.find(iri)
  } catch (error) {
    if (error instanceof Unavailable || error instanceof Undeliverable || error instanceof Rejection) return undefined
    throw error
  }
}

function nameAuthor({ username, host }: RemoteActor): string {
  return `@${username ?? '~unconfirmed'}@${host}`
}

/** A time that has not come yet is none. */
function saneTime(published: number | undefined, now: number): number {
  return published !== undefined && published > 0 && published <= now ? published : now
}
