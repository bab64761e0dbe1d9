// Creates the dependencies that both directions of the ActivityPub channel share.

import { parseDuration } from '@postern/message'
import type { ChannelContext } from '@postern/pipeline'
import type { ActivityPubConfig } from '../config.ts'
import { createBlocklist } from '../domains/blocklist.ts'
import { instanceActorIri } from '../format/own-iris.ts'
import { createForeignInboxLimits } from '../inboxes/foreign-inbox-limits.ts'
import { createKeyRing } from '../keys/key-ring.ts'
import { createSignatureFallback } from '../keys/signature-fallback.ts'
import { createActorCache } from '../peers/actor-cache.ts'
import { createDocumentFetch, createKeyOwnerFinder } from '../peers/document-fetch.ts'
import { createSignerDocuments } from '../peers/signer-documents.ts'
import { createOutgoingProof } from '../proofs/outgoing-proof.ts'
import { createHandles } from '../webfinger/handles.ts'

export type ChannelDeps = ReturnType<typeof createChannelDeps>

/** Creates the dependencies that both directions of the channel share: keys, blocked hosts, and the caches of peers. */
export function createChannelDeps(config: ActivityPubConfig, { system, store, agents }: ChannelContext) {
  const { origin } = agents
  const now = () => system.now()
  const keys = createKeyRing({ store, origin, now })
  const send = createSignatureFallback({ fetch: system.fetch, now })
  const isListed = createBlocklist(config)
  // Agents of one gateway can always reach each other, regardless of the lists.
  const ownHosts: ReadonlySet<string> = new Set([agents.domain, new URL(origin).hostname])
  const isBlocked = (host: string) => !ownHosts.has(host) && isListed(host)
  const fetchDocument = createDocumentFetch({
    system,
    send,
    keys,
    isBlocked,
    instanceActor: instanceActorIri(origin),
  })
  const documents = createSignerDocuments({ system, fetchSigned: fetchDocument, isBlocked })
  return {
    system,
    store,
    send,
    keys,
    agents,
    origin,
    now,
    fetchDocument,
    actors: createActorCache({ fetchDocument, documents, now }),
    findKeyOwner: createKeyOwnerFinder({ documents, now }),
    proveOutgoing: createOutgoingProof(config.object_proofs),
    handles: createHandles({ fetch: system.fetch, now, isBlocked }),
    foreignInboxes: createForeignInboxLimits(store, now),
    isBlocked,
    windowMs: parseDuration(config.date_window),
  }
}
