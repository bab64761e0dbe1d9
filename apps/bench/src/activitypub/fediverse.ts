import type { Site, SiteDocument } from '../servers/site.ts'
import { openSite } from '../servers/site.ts'
import { encodeEd25519Key } from './multikey.ts'
import type { TrafficSender } from './senders.ts'
import { formatPem } from './senders.ts'

/** The servers the senders live on: their actors and their WebFinger. */
export interface Fediverse extends Site {
  /** Every host, for the gateway's `network.loopback`. */
  readonly loopback: Readonly<Record<string, number>>
}

export async function openFediverse(senders: readonly TrafficSender[]): Promise<Fediverse> {
  const site = await openSite(new Map(senders.flatMap(sender => [...formatDocuments(sender)])))
  return { ...site, loopback: Object.fromEntries(senders.map(({ host }) => [host, site.port])) }
}

function* formatDocuments(sender: TrafficSender): Generator<[string, SiteDocument]> {
  const { host, user } = sender
  yield [`${host}/users/${user}`, { type: 'application/activity+json; charset=utf-8', text: formatActor(sender) }]
  const subject = `acct:${user}@${host}`
  const links = [{ rel: 'self', type: 'application/activity+json', href: sender.actorId }]
  const answer = { type: 'application/jrd+json', text: JSON.stringify({ subject, links }) }
  for (const resource of [subject, encodeURIComponent(subject)]) {
    yield [`${host}/.well-known/webfinger?resource=${resource}`, answer]
  }
}

function formatActor({ host, user, actorId, keyId, publicKey }: TrafficSender): string {
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
    ...(publicKey.asymmetricKeyType === 'rsa'
      ? { publicKey: { id: keyId, owner: actorId, publicKeyPem: formatPem(publicKey) } }
      : {
          assertionMethod: [
            { id: keyId, type: 'Multikey', controller: actorId, publicKeyMultibase: encodeEd25519Key(publicKey) },
          ],
        }),
  })
}
