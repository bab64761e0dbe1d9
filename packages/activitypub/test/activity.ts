// Composes activities of peers.
import { publicCollection } from '../src/format/vocabulary.ts'
import { origin } from './gateway.ts'
import type { PeerAccount } from './person.ts'

type Document = Record<string, unknown>

export const echoActor = `${origin}/agents/echo`

let counter = 0

/** Composes a minimal activity, with as few members as servers send. */
export function composeActivity(author: PeerAccount, type: string, object: unknown, members: Document = {}): Document {
  counter += 1
  return {
    '@context': 'https://www.w3.org/ns/activitystreams',
    id: `${author.id}#${type.toLowerCase()}s/${counter}`,
    type,
    actor: author.id,
    object,
    ...members,
  }
}

export function composeUndo(author: PeerAccount, { '@context': _, ...undone }: Document): Document {
  return composeActivity(author, 'Undo', undone)
}

/** Composes an edit in the form of Mastodon. */
export function composeUpdate(
  author: PeerAccount,
  create: Document,
  changes: Document,
  members: Document = {},
): Document {
  const object = { ...(create.object as Document), updated: '2026-11-21T12:00:00Z', ...changes }
  const { to, cc } = create
  return composeActivity(author, 'Update', object, { to, cc, ...members })
}

/** Composes the deletion of a post in the form of Mastodon. */
export function composeDelete(author: PeerAccount, id: unknown, members: Document = {}): Document {
  return composeActivity(
    author,
    'Delete',
    { id, type: 'Tombstone', atomUri: id },
    { to: [publicCollection], ...members },
  )
}

export function objectIdOf(create: Document): string {
  return String((create.object as Document).id)
}
