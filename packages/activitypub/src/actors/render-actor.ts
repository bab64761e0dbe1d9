// Renders the documents of our own actors.

import { createPublicKey } from 'node:crypto'
import type { Json, ProfileField } from '@postern/message'
import { escapeHtml, isLinkField } from '@postern/message'
import type { AgentProfile } from '@postern/pipeline'
import type { ActivityPubConfig } from '../config.ts'
import { agentIris, instanceActorIri } from '../format/own-iris.ts'
import { activityStreams, multikeyContexts, publicCollection, securityContext } from '../format/vocabulary.ts'
import type { ActorKeys } from '../keys/key-generations.ts'
import type { JsonMembers } from '../posts/render-post.ts'
import { formatRsaMultikey } from '../signature/public-keys.ts'
import { describeInHtml } from '../text/post-html.ts'

const actorContext: Json = [
  activityStreams,
  securityContext,
  ...multikeyContexts,
  {
    manuallyApprovesFollowers: 'as:manuallyApprovesFollowers',
    toot: 'http://joinmastodon.org/ns#',
    discoverable: 'toot:discoverable',
    indexable: 'toot:indexable',
    featured: { '@id': 'toot:featured', '@type': '@id' },
    alsoKnownAs: { '@id': 'as:alsoKnownAs', '@type': '@id' },
    schema: 'http://schema.org#',
    PropertyValue: 'schema:PropertyValue',
    value: 'schema:value',
  },
]

export interface ActorDeps {
  readonly origin: string
  readonly follows: ActivityPubConfig['follows']
}

/** Renders an agent's actor document: a `Service`, which servers show as automated. */
export function renderActor(agent: AgentProfile, keys: ActorKeys, { origin, follows }: ActorDeps): JsonMembers {
  const { actor, ...collections } = agentIris(origin, agent.name)
  return {
    '@context': actorContext,
    id: actor,
    type: 'Service',
    preferredUsername: agent.name,
    name: agent.displayName,
    summary: describeInHtml(agent.description),
    url: actor,
    ...collections,
    endpoints: { sharedInbox: `${origin}/inbox` },
    manuallyApprovesFollowers: follows !== 'open',
    discoverable: agent.isDiscoverable === true,
    indexable: agent.isIndexable === true,
    published: keys.actorCreatedAt,
    ...renderProfile(agent),
    ...renderKeys(keys, actor),
  }
}

function renderProfile({ iconUrl, iconType, fields = [], alsoKnownAs = [] }: AgentProfile) {
  return {
    ...(iconUrl && { icon: { type: 'Image', url: iconUrl, ...(iconType && { mediaType: iconType }) } }),
    ...(fields.length > 0 && { attachment: fields.map(renderField) }),
    ...(alsoKnownAs.length > 0 && { alsoKnownAs }),
  }
}

/**
 * Renders a field of the profile. Mastodon looks for a link back (`rel="me"`) only if the text of the link is its
 * address.
 */
function renderField(field: ProfileField): Json {
  const text = escapeHtml(field.value)
  const link = `<a href="${text}" rel="me nofollow noopener" target="_blank">${text}</a>`
  return { type: 'PropertyValue', name: field.name, value: isLinkField(field) ? link : text }
}

/**
 * Renders the actor that signs our own fetches. Strict servers fetch it before they answer, so everybody may read it.
 */
export function renderInstanceActor(domain: string, keys: ActorKeys, origin: string): Json {
  const id = instanceActorIri(origin)
  return {
    '@context': actorContext,
    id,
    type: 'Application',
    preferredUsername: domain,
    name: domain,
    url: origin,
    inbox: `${origin}/inbox`,
    outbox: `${id}/outbox`,
    endpoints: { sharedInbox: `${origin}/inbox` },
    manuallyApprovesFollowers: true,
    discoverable: false,
    indexable: false,
    ...renderKeys(keys, id),
  }
}

interface ActorChange {
  readonly agent: AgentProfile
  readonly keys: ActorKeys
  readonly gateway: ActorDeps
  /**
   * The time of the announcement, ISO 8601 UTC. Its id contains this time, so a retried delivery is the same document.
   */
  readonly at: string
}

/**
 * Renders an `Update` for peers that keep a copy of the actor, after a change of its keys, its name or its picture. The
 * function is pure.
 */
export function renderActorUpdate({ agent, keys, gateway, at }: ActorChange): JsonMembers {
  const { '@context': context, ...object } = renderActor(agent, keys, gateway)
  return {
    '@context': context,
    id: `${object.id}#updates/${Date.parse(at)}`,
    type: 'Update',
    actor: object.id,
    published: at,
    to: [publicCollection],
    object,
  }
}

/**
 * Renders the keys. `publicKey` is one key and never a list, because some servers cannot read a list and would then find no key (snac:
 * "cannot get pubkey"). Earlier keys are among the Multikeys.
 */
function renderKeys({ listedKeys }: ActorKeys, owner: string) {
  const [newestKey, ...replacedKeys] = listedKeys.map(({ requestKey }) => requestKey)
  const toMultikey = (id: string, publicKeyMultibase: string) => {
    return { id, type: 'Multikey', controller: owner, publicKeyMultibase }
  }
  return {
    ...(newestKey && { publicKey: { id: newestKey.id, owner, publicKeyPem: newestKey.publicKeyPem } }),
    assertionMethod: [
      ...listedKeys.map(({ documentKey }) => toMultikey(documentKey.id, documentKey.publicKeyMultibase)),
      ...replacedKeys.map(({ id, publicKeyPem }) => toMultikey(id, formatRsaMultikey(createPublicKey(publicKeyPem)))),
    ],
  }
}
