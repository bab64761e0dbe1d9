// Resolves an agent's address by WebFinger as Mastodon does, and finds the keys of signers.
import type { NoteRecipient } from './note.ts'

/** An agent as its gateway describes it, with the inboxes for deliveries. */
export interface ResolvedRecipient extends NoteRecipient {
  readonly inbox: string
  readonly sharedInbox: string | undefined
}

/**
 * Resolves an address as Mastodon does before a mention. It asks WebFinger, fetches the actor, and asks WebFinger for the name that the
 * actor gives itself, which must lead back. The recipient's address is the canonical one.
 * @throws Error
 */
export async function resolveRecipient(query: string, fetchDocument: FetchActorDocument): Promise<ResolvedRecipient> {
  const { actor: id } = await queryWebFinger(query, fetchDocument)
  const actor = await fetchDocument(id)
  if (typeof actor.inbox !== 'string') throw new Error(`The actor ${id} has no inbox`)
  const address = await confirmName(`${actor.preferredUsername}@${new URL(id).hostname}`, id, fetchDocument)
  const { sharedInbox } = (actor.endpoints ?? {}) as { sharedInbox?: string }
  const url = typeof actor.url === 'string' ? actor.url : id
  return { id, url, address, inbox: actor.inbox, sharedInbox }
}

/** Checks that WebFinger of an actor's name leads back to the actor, which GoToSocial requires of signers. @throws Error */
export async function checkName(id: string, fetchDocument: FetchActorDocument): Promise<void> {
  const { preferredUsername } = await fetchDocument(id)
  await confirmName(`${preferredUsername}@${new URL(id).hostname}`, id, fetchDocument)
}

/** Confirms a name. If its domain differs from the actor's host, that domain must confirm it, too. */
async function confirmName(name: string, id: string, fetchDocument: FetchActorDocument): Promise<string> {
  const firstResult = await queryWebFinger(name, fetchDocument)
  const secondResult =
    firstResult.subject === name ? firstResult : await queryWebFinger(firstResult.subject, fetchDocument)
  if (firstResult.actor === id && secondResult.actor === id && secondResult.subject === firstResult.subject)
    return secondResult.subject
  throw new Error(`WebFinger of ${name} does not lead back to ${id}`)
}

async function queryWebFinger(
  address: string,
  fetchDocument: FetchActorDocument,
): Promise<{ subject: string; actor: string }> {
  const domain = address.slice(address.indexOf('@') + 1)
  const jrd = await fetchDocument(
    `https://${domain}/.well-known/webfinger?resource=${encodeURIComponent(`acct:${address}`)}`,
  )
  const links = Array.isArray(jrd.links) ? (jrd.links as Record<string, unknown>[]) : []
  const selfLink = links.find(link => link.rel === 'self' && /activity\+json|activitystreams/.test(String(link.type)))
  if (typeof selfLink?.href !== 'string') throw new Error(`WebFinger of ${address} names no actor`)
  return { subject: String(jrd.subject).replace(/^acct:/, ''), actor: selfLink.href }
}

/** Returns a recipient on the same host who does not exist. */
export function inventNeighbour(recipient: ResolvedRecipient): ResolvedRecipient {
  const [name = '', domain = ''] = recipient.address.split('@')
  const replaceName = (url: string) => url.replace(new RegExp(`/${name}(?=/|$)`), '/no-such-agent')
  return {
    ...recipient,
    id: replaceName(recipient.id),
    url: replaceName(recipient.url),
    address: `no-such-agent@${domain}`,
    inbox: replaceName(recipient.inbox),
  }
}

/** Fetches a document of the other side and parses it. @throws Error when it cannot be fetched */
export type FetchActorDocument = (url: string) => Promise<Record<string, unknown>>

export interface ActorKey {
  /** The owner's actor IRI. */
  readonly owner: string
  readonly publicKeyPem: string
}

/**
 * Finds a key as servers do. The key document names the owner, and the owner's own document must contain the same key. @throws Error with the reason
 */
export async function findKey(keyId: string, fetchDocument: FetchActorDocument): Promise<ActorKey> {
  const keyUrl = keyId.replace(/#.*$/, '')
  const namedKey = readKey(await fetchDocument(keyUrl))
  const owner = namedKey?.owner
  if (typeof owner !== 'string' || new URL(owner).origin !== new URL(keyId).origin) {
    throw new Error(`the key ${keyId} names no owner of its own origin`)
  }
  const actor = await fetchDocument(owner)
  const key = readKey(actor)
  if (actor.id !== owner || key?.id !== keyId || key.owner !== owner || typeof key.publicKeyPem !== 'string') {
    throw new Error(`the actor ${owner} does not own the key ${keyId}`)
  }
  return { owner, publicKeyPem: key.publicKeyPem }
}

function readKey(document: Record<string, unknown>): Record<string, unknown> | undefined {
  const key = document.publicKey ?? (document.publicKeyPem ? document : undefined)
  return typeof key === 'object' && key !== null ? (key as Record<string, unknown>) : undefined
}
