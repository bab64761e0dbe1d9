// Serves the actors and WebFinger of simulated senders for the bench.
import type { KeyObject } from 'node:crypto'
import { generateKeyPair } from 'node:crypto'
import { promisify } from 'node:util'
import { encodeBase58 } from '@postern/message'
import type { StaticDocument, StaticHosts } from '../servers/static-hosts.ts'
import { serveStaticHosts } from '../servers/static-hosts.ts'

/** The servers of the senders, with their actors and their WebFinger. */
export interface Fediverse extends StaticHosts {
  /** The ports of all hosts, for the gateway's `network.loopback`. */
  readonly loopback: Readonly<Record<string, number>>
}

export async function openFediverse(senders: readonly TrafficSender[]): Promise<Fediverse> {
  const site = await serveStaticHosts(new Map(senders.flatMap(sender => [...formatDocuments(sender)])))
  return { ...site, loopback: Object.fromEntries(senders.map(({ host }) => [host, site.port])) }
}

function* formatDocuments(sender: TrafficSender): Generator<[string, StaticDocument]> {
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

/** Encodes an Ed25519 public key as a Multikey names it: base58btc of its multicodec prefix and its 32 bytes (FEP-521a). */
function encodeEd25519Key(key: KeyObject): string {
  const { x = '' } = key.export({ format: 'jwk' })
  return `z${encodeBase58(Buffer.concat([Buffer.from([0xed, 0x01]), Buffer.from(x, 'base64url')]))}`
}

/** A person on a Mastodon-like server. */
export interface TrafficSender {
  readonly host: string
  readonly user: string
  readonly actorId: string
  readonly keyId: string
  readonly privateKey: KeyObject
  readonly publicKey: KeyObject
}

/**
 * The generators of keys. `ed25519` is for cases that need very many requests and do not measure the cost of a signature: signing is seventeen times
 * cheaper.
 */
const generateKeys = {
  rsa: () => promisify(generateKeyPair)('rsa', { modulusLength: 2048 }),
  ed25519: () => promisify(generateKeyPair)('ed25519'),
} as const

export type KeyKind = keyof typeof generateKeys

/** Creates `count` people on half as many servers, each with a key. */
export function createSenders(count: number, kind: KeyKind = 'rsa'): Promise<readonly TrafficSender[]> {
  return Promise.all(
    Array.from({ length: count }, (_, index) => createSender(`user${index}`, `social-${index >> 1}.test`, kind)),
  )
}

async function createSender(user: string, host: string, kind: KeyKind): Promise<TrafficSender> {
  const { privateKey, publicKey } = await generateKeys[kind]()
  const actorId = `https://${host}/users/${user}`
  return { host, user, actorId, keyId: `${actorId}#main-key`, privateKey, publicKey }
}

export function formatPem(key: KeyObject): string {
  return key.export({ type: 'spki', format: 'pem' }).toString()
}
