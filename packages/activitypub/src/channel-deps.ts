import type { ChannelContext } from '@postern/core'
import type { ActivityPubConfig } from './config.ts'
import { parseDuration } from './config.ts'
import { instanceActorIri } from './format/own-iris.ts'
import { createKeyRing } from './keys/keys.ts'
import { createOutgoingProof } from './keys/outgoing-proof.ts'
import { createActorCache } from './peers/actor-cache.ts'
import { createBlocklist } from './peers/blocklist.ts'
import { createDocumentFetch } from './peers/document-fetch.ts'
import { createDoubleKnock } from './peers/double-knock.ts'
import { createForeignInboxes } from './peers/foreign-inbox.ts'
import { createHandles } from './peers/webfinger.ts'
import { createKeyOwners } from './proofs/key-owner.ts'

export type ChannelDeps = ReturnType<typeof createChannelDeps>

/** Dependencies that both directions of the channel share: keys, blocked hosts, and its memory of peers. */
export function createChannelDeps(config: ActivityPubConfig, { platform, store, agents }: ChannelContext) {
  const { origin } = agents
  const now = () => platform.now()
  const keys = createKeyRing({ store, origin, now })
  const send = createDoubleKnock({ fetch: platform.fetch, now })
  const isListed = createBlocklist(config)
  // Agents of one gateway speak to each other, whatever the lists hold.
  const ownHosts: ReadonlySet<string> = new Set([agents.domain, new URL(origin).hostname])
  const isBlocked = (host: string) => !ownHosts.has(host) && isListed(host)
  const fetchDocument = createDocumentFetch({
    platform,
    send,
    keys,
    isBlocked,
    instanceActor: instanceActorIri(origin),
  })
  return {
    platform,
    store,
    send,
    keys,
    agents,
    origin,
    now,
    fetchDocument,
    actors: createActorCache({ fetchDocument, now }),
    findKeyOwner: createKeyOwners({ fetchDocument, now }),
    proveOutgoing: createOutgoingProof(config.object_proofs),
    handles: createHandles({ fetch: platform.fetch, now, isBlocked }),
    foreignInboxes: createForeignInboxes({ store, platform }),
    isBlocked,
    windowMs: parseDuration(config.date_window),
  }
}
