// Creates the simulated ActivityPub actors and their documents.
import type { RsaKey } from '../../keys.ts'
import { createLazyRsaKey } from '../../keys.ts'
import type { ServerBehaviour } from './persona.ts'
import { fediverseHosts } from './persona.ts'

/** A person with an account in the simulated fediverse. */
export interface SimActor {
  readonly name: string
  readonly host: string
  /** The address, `name@host`. */
  readonly address: string
  readonly id: string
  readonly keyId: string
  readonly persona: ServerBehaviour
  key(): Promise<RsaKey>
}

export function createActors(): ReadonlyMap<string, SimActor> {
  const actors = Object.entries(fediverseHosts).flatMap(([host, { persona, users }]) =>
    users.map(name => createActor(name, host, persona)),
  )
  return new Map(actors.map(actor => [actor.address, actor]))
}

function createActor(name: string, host: string, persona: ServerBehaviour): SimActor {
  const id = `https://${host}/users/${name}`
  return { name, host, address: `${name}@${host}`, id, keyId: persona.keyIdOf(id), persona, key: createLazyRsaKey() }
}

const actorContext = [
  'https://www.w3.org/ns/activitystreams',
  'https://w3id.org/security/v1',
  {
    manuallyApprovesFollowers: 'as:manuallyApprovesFollowers',
    toot: 'http://joinmastodon.org/ns#',
    featured: { '@id': 'toot:featured', '@type': '@id' },
    discoverable: 'toot:discoverable',
  },
]

/** Describes the actor in a document like Mastodon's. */
export async function describeActor(actor: SimActor): Promise<Record<string, unknown>> {
  const { id, name, host } = actor
  return {
    '@context': actorContext,
    id,
    type: 'Person',
    following: `${id}/following`,
    followers: `${id}/followers`,
    inbox: `${id}/inbox`,
    outbox: `${id}/outbox`,
    featured: `${id}/collections/featured`,
    preferredUsername: name,
    name: name.replace(/^./, letter => letter.toUpperCase()),
    summary: `<p>${name} of the simulated ${host}</p>`,
    url: `https://${host}/@${name}`,
    manuallyApprovesFollowers: false,
    discoverable: true,
    published: '2024-01-01T00:00:00Z',
    publicKey: await describeKey(actor),
    tag: [],
    attachment: [],
    endpoints: { sharedInbox: `https://${host}/inbox` },
  }
}

/** Describes the part of an actor that GoToSocial serves at its key's address, to everybody. */
export async function describeActorPart(actor: SimActor): Promise<Record<string, unknown>> {
  const { id, name } = actor
  const context = ['https://w3id.org/security/v1', 'https://www.w3.org/ns/activitystreams']
  return { '@context': context, id, type: 'Person', preferredUsername: name, publicKey: await describeKey(actor) }
}

/** Describes the key alone, with its claimed owner. */
export async function describeBareKey(actor: SimActor): Promise<Record<string, unknown>> {
  return { '@context': 'https://w3id.org/security/v1', type: 'Key', ...(await describeKey(actor)) }
}

async function describeKey(actor: SimActor): Promise<Record<string, string>> {
  const { publicPem } = await actor.key()
  return { id: actor.keyId, owner: actor.id, publicKeyPem: publicPem }
}
