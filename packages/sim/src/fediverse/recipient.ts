import type { FetchDocument } from './find-key.ts'
import type { NoteRecipient } from './note.ts'

/** An agent as its gateway describes it, with the doors to deliver at. */
export interface ResolvedRecipient extends NoteRecipient {
  readonly inbox: string
  readonly sharedInbox: string | undefined
}

/** WebFinger → actor document, as any server does before it can mention somebody. @throws Error */
export async function resolveRecipient(address: string, fetchDocument: FetchDocument): Promise<ResolvedRecipient> {
  const domain = address.slice(address.indexOf('@') + 1)
  const jrd = await fetchDocument(
    `https://${domain}/.well-known/webfinger?resource=${encodeURIComponent(`acct:${address}`)}`,
  )
  const links = Array.isArray(jrd.links) ? (jrd.links as Record<string, unknown>[]) : []
  const self = links.find(link => link.rel === 'self' && /activity\+json|activitystreams/.test(String(link.type)))
  if (typeof self?.href !== 'string') throw new Error(`WebFinger of ${address} names no actor`)
  const actor = await fetchDocument(self.href)
  if (typeof actor.inbox !== 'string') throw new Error(`The actor ${self.href} has no inbox`)
  const { sharedInbox } = (actor.endpoints ?? {}) as { sharedInbox?: string }
  const url = typeof actor.url === 'string' ? actor.url : self.href
  return { id: self.href, url, address, inbox: actor.inbox, sharedInbox }
}

/** Somebody who would live beside `recipient` if he existed. */
export function inventNeighbour(recipient: ResolvedRecipient): ResolvedRecipient {
  const [name = '', domain = ''] = recipient.address.split('@')
  const rename = (url: string) => url.replace(new RegExp(`/${name}(?=/|$)`), '/no-such-agent')
  return {
    id: rename(recipient.id),
    url: rename(recipient.url),
    address: `no-such-agent@${domain}`,
    inbox: rename(recipient.inbox),
    sharedInbox: recipient.sharedInbox,
  }
}
