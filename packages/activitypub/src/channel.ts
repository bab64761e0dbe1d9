import type {
  Channel,
  ChannelContext,
  Delivery,
  Inbound,
  IntakeSteps,
  Json,
  NormalizedMessage,
  Proof,
  Store,
} from '@postern/core'
import {
  createIntakeSteps,
  createSender,
  defaultMaxMentions,
  isJsonObject,
  parseDuration,
  receive,
  renderUnsent,
} from '@postern/core'
import { peerAddress, problemStatusOf } from '@postern/http'
import type { Context, Hono } from 'hono'
import { createKeyRing } from './actors/actor.ts'
import { createKeyIntroductions } from './actors/key-introductions.ts'
import { createBackground } from './background/background.ts'
import { createPostFinder } from './background/remote-posts.ts'
import type { ActivityPubConfig } from './config.ts'
import { createDoubleKnock, createFindBytes, createOutgoingProof, deliverActivity } from './deliver.ts'
import { findHost, instanceActorIri, readDeliveryTarget, readReferences, toJson } from './format/document.ts'
import type { Findings, InboxDeps, Lookups, ResolvedDelivery } from './inbox/activity-kind.ts'
import { activityKinds } from './inbox/kinds/activity-kinds.ts'
import { normalizeDelivery, readWithdrawals } from './normalize.ts'
import { createCreatedPosts, createDocumentFetch, createKeyOwners } from './peers/document-fetch.ts'
import type { ForeignDelivery } from './peers/foreign-inbox.ts'
import { createForeignInboxes } from './peers/foreign-inbox.ts'
import type { Handles, IsBlocked, PeerLimits } from './peers/known-peers.ts'
import {
  createActorCache,
  createBlocklist,
  createHandles,
  createPeerLimits,
  isAboutBlocked,
} from './peers/known-peers.ts'
import { createSignerDocuments } from './peers/signer-documents.ts'
import { createDeletedCheck, createUnreachableInboxes } from './peers/unreachable-inboxes.ts'
import { addressAction, expandToFollowers } from './posts/address-action.ts'
import { addressAnswer, createDeliveryRenderer, describeOutgoing } from './posts/answers.ts'
import type { Facts, NamedActivity, ProvenActivity, VerifiedDelivery } from './proofs/proven-activity.ts'
import { restoreRequest } from './signature/request-proof.ts'
import { activityPubDescriptor } from './speaker.ts'
import type { InboxRequest } from './verify.ts'
import { verifyDelivery } from './verify.ts'

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
  const documents = createSignerDocuments({ platform, fetchSigned: fetchDocument, isBlocked })
  return {
    platform,
    store,
    send,
    keys,
    agents,
    origin,
    now,
    fetchDocument,
    actors: createActorCache({ fetchDocument, documents, now }),
    findKeyOwner: createKeyOwners({ documents, now }),
    proveOutgoing: createOutgoingProof(config.object_proofs),
    handles: createHandles({ fetch: platform.fetch, now, isBlocked }),
    foreignInboxes: createForeignInboxes(store, now),
    isBlocked,
    windowMs: parseDuration(config.date_window),
  }
}

interface InboxRouteDeps extends Pick<ChannelContext, 'admission' | 'platform' | 'store'> {
  readonly inbound: Inbound<InboxRequest, ResolvedDelivery>
}

/** The inboxes: of each agent, and the shared one. */
export function addInboxes(app: Hono, { admission, store, platform, inbound }: InboxRouteDeps): void {
  async function takeDelivery(context: Context, agent?: string): Promise<Response> {
    await receive(
      inbound,
      { request: context.req.raw, agent },
      {
        admission,
        store,
        platform,
        from: peerAddress(context.env),
        endpoint: agent === undefined ? 'POST /inbox' : 'POST /agents/:agent/inbox',
        statusOf: problemStatusOf,
        request: context.req.raw,
      },
    )
    return context.body(null, 202)
  }
  app.post('/inbox', context => takeDelivery(context))
  app.post('/agents/:agent/inbox', context => takeDelivery(context, context.req.param('agent')))
  app.all('/inbox', refuseMethod)
  app.all('/agents/:agent/inbox', refuseMethod)
}

function refuseMethod(context: Context): Response {
  return context.json({ title: 'Method Not Allowed', status: 405 }, 405, {
    allow: 'POST',
    'content-type': 'application/problem+json',
  })
}

const hourMs = 3_600_000
/** No person reads an answer and writes another message in less time. */
const swiftMs = 3_000

/** The way in: an activity in an inbox becomes messages to agents. */
export function createInbound(config: ActivityPubConfig, deps: ChannelDeps): Inbound<InboxRequest, ResolvedDelivery> {
  const { agents, isBlocked, fetchDocument, now } = deps
  const gateway: InboxDeps = {
    agents,
    isBlocked,
    follows: config.follows,
    maxMentions: config.max_mentions,
    quotas: {
      machines: { turns: config.bot_turns_per_hour, withinMs: hourMs },
      people: { turns: config.rapid_turns_per_hour, withinMs: hourMs, swiftMs },
    },
  }
  const resolving = { ...deps, gateway, fetchCreatedPost: createCreatedPosts({ fetchDocument, now }) }
  return {
    name: 'activitypub',
    async verify(raw, steps) {
      const facts = createFacts(deps.store, raw.facts)
      const verified = await verifyDelivery(raw, deps, steps)
      const resolved = await resolveDelivery(verified, { ...resolving, store: facts.store }, steps)
      return withFacts(resolved, facts.found())
    },
    normalize: normalizeDelivery,
    withdrawals: readWithdrawals,
  }
}

interface ResolveDeps extends Lookups {
  readonly gateway: InboxDeps
  readonly handles: Pick<Handles, 'confirm'>
  readonly isBlocked: IsBlocked
}

const bringsPosts: ReadonlySet<string> = new Set(['Create', 'Update', 'Announce'])

/**
 * Looks up what a proven activity refers to. Its sender's name is looked up only if it concerns an agent here.
 * @throws Rejection `forbidden`
 */
async function resolveDelivery(
  verified: VerifiedDelivery,
  parts: ResolveDeps,
  steps: IntakeSteps,
): Promise<ResolvedDelivery> {
  if (verified === 'nothing' || !verified.activity) return verified
  const { type, json } = verified.activity
  if (bringsPosts.has(type) && isAboutBlocked(json, parts.isBlocked)) return 'nothing'
  const kind = activityKinds.get(type)
  const lookedAt = steps.now()
  const found = await kind?.find(verified, parts)
  if (!kind || !found) return 'nothing'
  steps.note({ kind: 'resolve', verdict: 'pass' }, lookedAt)
  const namedAt = steps.now()
  const named = concernsAgents(found) ? await nameActor(verified, parts) : { ...verified, address: undefined }
  const handle = named.proofs.find(({ kind: proof }) => proof === 'webfinger')
  if (handle) steps.note(handle, namedAt)
  return { kind, resolved: { named, agents: [], known: [], gateway: parts.gateway, ...found } }
}

function concernsAgents({ agents = [], known = [], post }: Findings): boolean {
  return agents.length > 0 || known.length > 0 || post !== undefined
}

async function nameActor(proven: ProvenActivity, { handles }: ResolveDeps): Promise<NamedActivity> {
  const address = await handles.confirm(proven.actor)
  return { ...proven, address, proofs: [...proven.proofs, proveHandle(address)] }
}

function proveHandle(address: string | undefined): Proof {
  if (address) return { kind: 'webfinger', verdict: 'pass', address }
  return { kind: 'webfinger', verdict: 'none', reason: 'the name is not confirmed by its host' }
}

/** Notes what the store says: follows and earlier activities may be gone when the activity is read again. `known`: asks it instead. */
function createFacts(store: Pick<Store, keyof Lookups['store']>, known?: Facts) {
  const found: Record<string, Json> = {}
  async function ask<Answer>(question: readonly unknown[], look: () => Promise<Answer>, none: Answer): Promise<Answer> {
    const name = JSON.stringify(question)
    if (known) return (known[name] as Answer | undefined) ?? none
    const answer = await look()
    if (answer !== undefined && !(Array.isArray(answer) && answer.length === 0)) found[name] = answer as Json
    return answer
  }
  const noting: Lookups['store'] = {
    findResponse: id => store.findResponse(id),
    findAuthored: (via, { author, object }) =>
      ask(['authored', author, object], () => store.findAuthored(via, { author, object }), []),
    findRelation: key => ask(['relation', key.agent, key.relation, key.peer], () => store.findRelation(key), undefined),
  }
  /** `found`: what was asked for, and is there. */
  return { store: noting, found: (): Facts => found }
}

/** Kept with the activity. */
function withFacts(resolved: ResolvedDelivery, facts: Facts): ResolvedDelivery {
  if (resolved === 'nothing' || 'gone' in resolved || Object.keys(facts).length === 0) return resolved
  const { kind, resolved: read } = resolved
  const { arrival } = read.named
  const kept = isJsonObject(arrival) ? { ...arrival, facts } : arrival
  return { kind, resolved: { ...read, named: { ...read.named, arrival: kept as Json } } }
}

function readFacts(arrival: Json): Facts {
  return isJsonObject(arrival) && isJsonObject(arrival.facts) ? (arrival.facts as Facts) : {}
}

type Outgoing = ReturnType<typeof createSender> & Pick<Channel, 'addressAction' | 'expand' | 'preview'>

/** The way out: signed posts and activities to the inboxes of peers. */
export function createOutbound(
  config: ActivityPubConfig,
  { fileAddress, showRequirement, maxMentions = defaultMaxMentions }: ChannelContext,
  deps: ChannelDeps,
): Outgoing {
  const { platform, store, agents, origin, now, send, fetchDocument, foreignInboxes } = deps
  const limits = createPeerLimits({ fetch: platform.fetch, now })
  const addressing = { origin, postLimitOf: createPostLimits(config.split_posts, limits), showRequirement, maxMentions }
  const checkDeleted = createDeletedCheck({ fetchDocument, store, platform })
  const delivering = {
    ...deps,
    limits,
    introductions: createKeyIntroductions({ agents, platform, send, gateway: { origin, follows: config.follows } }),
    findBytes: createFindBytes(deps),
    onGone: createUnreachableInboxes({ store, checkDeleted, platform }),
  }
  const sender = createSender({
    descriptor: activityPubDescriptor,
    address: answered => addressAnswer(answered, addressing),
    render: createDeliveryRenderer({ origin, fileAddress, showRequirement }, now),
    describe: describeOutgoing,
    deliver(wire, delivery) {
      const post = () => deliverActivity(wire, delivery, delivering)
      const foreign = findForeignInbox(delivery)
      return foreign ? foreignInboxes.watchDelivery(foreign, post) : post()
    },
  })
  return {
    ...sender,
    preview: ({ turn, response }) =>
      renderUnsent(sender, { turn: { ...turn, target: previewReplyTarget(turn.content) }, response }),
    addressAction: action => addressAction(action, addressing),
    expand: (_, relations) => expandToFollowers(relations),
  }
}

/** The delivery with the host of its inbox, when it is another host than that of the inbox's owner. */
function findForeignInbox(delivery: Delivery): ForeignDelivery | undefined {
  const target = readDeliveryTarget(delivery)
  if (!('inbox' in target) || target.peer === undefined) return undefined
  const host = findHost(target.inbox)
  if (host === undefined || host === findHost(target.peer)) return undefined
  return { peer: target.peer, host, isForMany: delivery.broadcast !== undefined }
}

/** Without splitting, posts may have any length. */
function createPostLimits(isSplit: boolean, limits: PeerLimits): (inbox: string | undefined) => number {
  return inbox => (isSplit ? limits.recall((inbox && findHost(inbox)) ?? '') : Number.MAX_SAFE_INTEGER)
}

/** Looks up what was said before a message. Most messages answer and quote nothing. */
export function createBackgroundFetch(deps: ChannelDeps): NonNullable<Channel['fetchBackground']> {
  const fetchBackground = createBackground({ ...deps, findRemotePost: createPostFinder(deps) })
  return async function fetchIfReferred(turn, signal) {
    const { parent, quote } = readReferences(turn)
    return parent || quote ? fetchBackground(turn, signal) : []
  }
}

/** Reads a stored activity again, as the request that it came with. */
export function createActivityReplay(
  config: ActivityPubConfig,
  context: ChannelContext,
): NonNullable<Channel['replay']> {
  return async ({ agent, arrival, raw }, moment) => {
    const request = restoreRequest(arrival, raw, context.agents.origin)
    if (!request) return undefined
    const inbound = createInbound(config, createChannelDeps(config, { ...context, ...moment }))
    const steps = createIntakeSteps(moment.platform)
    const intakes = inbound.normalize(await inbound.verify({ request, facts: readFacts(arrival) }, steps))
    return intakes.find(intake => intake.agent === agent)
  }
}

/** The target of an answer to what came by another channel, as if its sender had written a post to the agent alone. */
function previewReplyTarget({ sender: { address } }: Pick<NormalizedMessage, 'sender'>): Json {
  const [, name = 'sender', host = 'example.org'] = /^@([^@\s]{1,200})@([\w.:-]{1,253})$/.exec(address) ?? []
  const actor = `https://${host}/@${encodeURIComponent(name)}`
  return toJson({ actor, address: `@${name}@${host}`, inbox: `${actor}/inbox`, visibility: 'direct' })
}
