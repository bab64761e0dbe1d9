import type { Channel, House, Inbound, Outbound, PublishedKey } from '@postern/core'
import { ConfigError, createSender } from '@postern/core'
import type { Hono } from 'hono'
import { createActorCache } from './actor-cache.ts'
import { addressAnswer } from './address-answer.ts'
import { createBlocklist } from './blocklist.ts'
import { createOutbox } from './collections.ts'
import type { ActivityPubConfig } from './config.ts'
import { parseDuration } from './config.ts'
import type { OutgoingActivity } from './deliver.ts'
import { deliverActivity, renderDelivery } from './deliver.ts'
import { createDocumentFetch } from './document-fetch.ts'
import type { KeyRing } from './keys.ts'
import { createKeyRing } from './keys.ts'
import { normalizeDelivery } from './normalize.ts'
import { agentIris, instanceActorIri } from './own-iris.ts'
import { createRoutes } from './routes.ts'
import type { InboxRequest, VerifiedDelivery } from './verify.ts'
import { verifyDelivery } from './verify.ts'
import { activityJson } from './vocabulary.ts'
import { createHandles } from './webfinger.ts'

export type { ActivityPubConfig } from './config.ts'
export { activityPubConfigSchema } from './config.ts'

/** Opens the fediverse's door: inboxes in, signed posts out. @throws ConfigError */
export function openActivityPub(config: ActivityPubConfig, { world, desk, agents }: House): Channel<Hono> {
  if (config.require_signed_fetch) throw notYet()
  const { origin } = agents
  const now = () => world.now()
  const keys = createKeyRing({ desk, origin, now })
  const fetchDocument = createDocumentFetch({ world, keys, instanceActor: instanceActorIri(origin) })
  const shared = {
    world,
    keys,
    agents,
    origin,
    now,
    actors: createActorCache({ fetchDocument, now }),
    handles: createHandles({ fetch: world.fetch, now }),
    isBlocked: createBlocklist(config.block),
    windowMs: parseDuration(config.date_window),
  }
  const inbound: Inbound<InboxRequest, VerifiedDelivery> = {
    name: 'activitypub',
    verify: raw => verifyDelivery(raw, shared),
    normalize: verified => normalizeDelivery(verified, agents),
  }
  const outbound: Outbound<OutgoingActivity> = {
    name: 'activitypub',
    address: answered => addressAnswer(answered, origin),
    render: delivery => renderDelivery(delivery, origin),
    describe: ({ document }) => document,
    deliver: (wire, delivery) => deliverActivity(wire, delivery, shared),
  }
  const outbox = createOutbox(desk, origin, now)
  const posts = { desk, handles: shared.handles, origin }
  return {
    ...createSender(outbound),
    routes: createRoutes({ agents, desk, world, keys, outbox, posts, inbound }),
    links: agent => [{ rel: 'self', type: activityJson, href: agentIris(origin, agent).actor }],
    publishedKeys: () =>
      publishKeys(keys, [...agents.list().map(({ name }) => agentIris(origin, name).actor), instanceActorIri(origin)]),
  }
}

function publishKeys(keys: KeyRing, actors: readonly string[]): Promise<readonly PublishedKey[]> {
  return Promise.all(
    actors.map(async actor => {
      const { id, publicKeyPem } = await keys.find(actor)
      return { purpose: 'ActivityPub HTTP signatures', id, algorithm: 'RSA-2048, rsa-sha256', publicKey: publicKeyPem }
    }),
  )
}

function notYet(): ConfigError {
  return new ConfigError(
    'activitypub.require_signed_fetch',
    'this version serves its public documents to everybody',
    'Leave it out or set it to false',
  )
}
