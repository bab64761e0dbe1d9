import { createPublicKey } from 'node:crypto'
import type { AgentProfile, Json, ProfileField, RelationStore } from '@postern/core'
import { escapeHtml, isLinkField, Rejection, Unavailable } from '@postern/core'
import type { ActivityPubConfig } from '../config.ts'
import { activityStreams, multikeyContexts, publicCollection, securityContext } from '../format/document.ts'
import { agentIris, instanceActorIri } from '../format/own-posts.ts'
import type { ActorKeys } from '../keys/signing.ts'
import type { RemoteActor } from '../peers/actors.ts'
import type { FoundPost } from '../posts/posts.ts'
import type { JsonMembers } from '../posts/render.ts'
import { formatRsaMultikey } from '../signature/public-keys.ts'
import { toSignedRequest } from '../signature/request-proof.ts'
import type { VerifyFetchDeps } from '../verify.ts'
import { identifySigner, isSigned, readRequestProof } from '../verify.ts'
import { describeInHtml } from '../words/words.ts'

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

/** An agent's actor document: a `Service`, which servers show as automated. */
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
    published: keys.actorMadeAt,
    ...renderFace(agent),
    ...renderKeys(keys, actor),
  }
}

function renderFace({ iconUrl, iconType, fields = [], alsoKnownAs = [] }: AgentProfile) {
  return {
    ...(iconUrl && { icon: { type: 'Image', url: iconUrl, ...(iconType && { mediaType: iconType }) } }),
    ...(fields.length > 0 && { attachment: fields.map(renderField) }),
    ...(alsoKnownAs.length > 0 && { alsoKnownAs }),
  }
}

/** Mastodon looks for a link back (`rel="me"`) only where the text of the link is its address. */
function renderField(field: ProfileField): Json {
  const text = escapeHtml(field.value)
  const link = `<a href="${text}" rel="me nofollow noopener" target="_blank">${text}</a>`
  return { type: 'PropertyValue', name: field.name, value: isLinkField(field) ? link : text }
}

/** The actor that signs our own fetches; strict servers fetch it before they answer, so it is readable by all. */
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

/** It only fetches and never posts. */
export function renderInstanceOutbox(origin: string): Json {
  const id = `${instanceActorIri(origin)}/outbox`
  return { '@context': activityStreams, id, type: 'OrderedCollection', totalItems: 0, orderedItems: [] }
}

interface ActorChange {
  readonly agent: AgentProfile
  readonly keys: ActorKeys
  readonly gateway: ActorDeps
  /**
   * When the announcement is made, ISO 8601 UTC. Its id contains this instant, so a retried delivery is the same
   * document.
   */
  readonly at: string
}

/** An `Update` for peers that keep a copy of the actor: its keys, its name or its picture changed. Pure. */
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
 * `publicKey` is one key, never a list: servers that read no lists would believe no key at all (snac: "cannot get
 * pubkey"). Earlier keys are among the Multikeys.
 */
function renderKeys({ listed }: ActorKeys, owner: string) {
  const [newest, ...replaced] = listed.map(({ request }) => request)
  const toMultikey = (id: string, publicKeyMultibase: string) => {
    return { id, type: 'Multikey', controller: owner, publicKeyMultibase }
  }
  return {
    ...(newest && { publicKey: { id: newest.id, owner, publicKeyPem: newest.publicKeyPem } }),
    assertionMethod: [
      ...listed.map(({ document }) => toMultikey(document.id, document.publicKeyMultibase)),
      ...replaced.map(({ id, publicKeyPem }) => toMultikey(id, formatRsaMultikey(createPublicKey(publicKeyPem)))),
    ],
  }
}

/** The readers of our documents. */
export interface Readers {
  /** Whether documents are shown to signed requests only. */
  readonly isSignedOnly: boolean
  /** Lets in everyone, or only those who sign. @throws Rejection, Unavailable */
  admit(request: Request): Promise<void>
  /**
   * The actor that asks. A reader without proof is a stranger, whatever the reason; documents for others do not exist
   * for strangers.
   */
  identify(request: Request): Promise<RemoteActor | undefined>
}

export function createReaders(isSignedOnly: boolean, parts: VerifyFetchDeps): Readers {
  return {
    isSignedOnly,
    async admit(request) {
      if (isSignedOnly && !(await verifySignedFetch(request, parts))) {
        throw new Rejection('unsigned', 'Cannot show document: sign the request')
      }
    },
    async identify(request) {
      try {
        return await verifySignedFetch(request, parts)
      } catch (error) {
        if (error instanceof Rejection || error instanceof Unavailable) return undefined
        throw error
      }
    },
  }
}

/**
 * The actor that asks for a document, by a signature of either kind. Undefined when nobody signed.
 * @throws Rejection, Unavailable
 */
async function verifySignedFetch(request: Request, parts: VerifyFetchDeps): Promise<RemoteActor | undefined> {
  if (!isSigned(request.headers)) return undefined
  const proof = readRequestProof(toSignedRequest(request, parts.origin))
  proof.checkTimes({ now: parts.now(), windowMs: parts.windowMs })
  return identifySigner(proof, parts)
}

/**
 * Whether this actor may read a post that is not public: its addressees may, and for a followers-only post the
 * followers. An actor that blocks the agent may read nothing.
 */
export async function mayRead(
  reader: RemoteActor,
  post: FoundPost,
  store: Pick<RelationStore, 'findRelation'>,
): Promise<boolean> {
  const key = { via: 'activitypub', agent: post.answered.agent, peer: reader.id } as const
  if (await store.findRelation({ ...key, relation: 'blocked_by' })) return false
  if (await post.isFor(reader)) return true
  if (post.visibility !== 'followers') return false
  return (await store.findRelation({ ...key, relation: 'follower' })) !== undefined
}
