import type { Site, SiteDocument } from '../harness/site.ts'
import { openSite } from '../harness/site.ts'
import type { Sender } from './senders.ts'

/** The servers the senders live on: their actors and their WebFinger. */
export function openFediverse(senders: readonly Sender[]): Promise<Site> {
  return openSite(new Map(senders.flatMap(sender => [...formatDocuments(sender)])))
}

function* formatDocuments(sender: Sender): Generator<[string, SiteDocument]> {
  const { host, user } = sender
  yield [`${host}/users/${user}`, { type: 'application/activity+json; charset=utf-8', text: formatActor(sender) }]
  const subject = `acct:${user}@${host}`
  const links = [{ rel: 'self', type: 'application/activity+json', href: sender.actorId }]
  const answer = { type: 'application/jrd+json', text: JSON.stringify({ subject, links }) }
  for (const resource of [subject, encodeURIComponent(subject)]) {
    yield [`${host}/.well-known/webfinger?resource=${resource}`, answer]
  }
}

function formatActor({ host, user, actorId, keyId, publicKeyPem }: Sender): string {
  return JSON.stringify({
    '@context': ['https://www.w3.org/ns/activitystreams', 'https://w3id.org/security/v1'],
    id: actorId,
    type: 'Person',
    preferredUsername: user,
    name: `Person ${user}`,
    inbox: `${actorId}/inbox`,
    outbox: `${actorId}/outbox`,
    followers: `${actorId}/followers`,
    endpoints: { sharedInbox: `https://${host}/inbox` },
    url: `https://${host}/@${user}`,
    publicKey: { id: keyId, owner: actorId, publicKeyPem },
  })
}
