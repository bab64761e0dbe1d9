import { createPublicKey } from 'node:crypto'
import type { AgentDirectory, AgentProfile, Json, LookupStore, ProfileField, RotateOptions } from '@postern/core'
import { escapeHtml, isLinkField, Rejection } from '@postern/core'
import { acceptsType } from '@postern/http'
import { createExpiringMap } from '@postern/limits'
import type { Context, Hono, Next } from 'hono'
import type { ActivityPubConfig } from '../config.ts'
import {
  activityAccept,
  activityJson,
  activityJsonUtf8,
  activityStreams,
  agentIris,
  instanceActorIri,
  multikeyContexts,
  publicCollection,
  securityContext,
} from '../format/document.ts'
import type { ActorKeys, KeyRing } from '../keys/key-generations.ts'
import { createKeyGenerations } from '../keys/key-generations.ts'
import type { JsonMembers } from '../posts/answers.ts'
import { formatRsaMultikey } from '../signature/public-keys.ts'
import { describeInHtml } from '../words/words.ts'
import { emptyCollection } from './collections.ts'
import type { Readers } from './readers.ts'

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
function renderActor(agent: AgentProfile, keys: ActorKeys, { origin, follows }: ActorDeps): JsonMembers {
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
function renderInstanceActor(domain: string, keys: ActorKeys, origin: string): Json {
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

interface KeyRingDeps {
  readonly store: Pick<LookupStore, 'secret' | 'hasSecret'>
  readonly origin: string
  now(): number
}

/** How long keys stay listed after they were replaced: longer than peers keep what they have not yet verified. */
const overlapMs = 7 * 86_400_000
/** Some peers do not read more keys than these. */
const maxListed = 4
/** After this, another gateway's rotation is seen here too. */
const loadedMs = 60_000
const maxActors = 10_000

export function createKeyRing({ store, origin, now }: KeyRingDeps): KeyRing {
  const loaded = createExpiringMap<Promise<ActorKeys>>(maxActors, now)
  const generations = createKeyGenerations(store, now)

  function keep(actor: string, found: Promise<ActorKeys>): Promise<ActorKeys> {
    loaded.set(actor, found, loadedMs)
    found.catch(() => loaded.delete(actor))
    return found
  }

  async function load(actor: string): Promise<ActorKeys> {
    const path = actor.slice(origin.length)
    const times = await generations.listTimes(path)
    const newest = times.length
    const oldest = await generations.findOldest(path, newest)
    const isWanted = (at: number) => at + 1 >= oldest && isListed(times, at, now())
    const wanted = times.flatMap((_, at) => (isWanted(at) ? [at + 1] : [])).slice(-maxListed)
    const pairs = await Promise.all(wanted.map(generation => generations.read(actor, path, generation)))
    const listed = pairs.reverse()
    const [current = await generations.read(actor, path, newest)] = listed
    return { ...current, listed, actorMadeAt: times[0] ?? current.madeAt }
  }

  /** In turn: a look for the next generation must not meet its making. */
  async function renew(
    actor: string,
    before: Promise<unknown> | undefined,
    options: RotateOptions | undefined,
  ): Promise<ActorKeys> {
    await before?.catch(() => undefined)
    await generations.add(actor.slice(origin.length), options)
    return load(actor)
  }

  return {
    find: actor => loaded.get(actor) ?? keep(actor, load(actor)),
    rotate: (actor, options) => keep(actor, renew(actor, loaded.get(actor), options)),
  }
}

/** The newest generation is listed, and each other one for a while after the next was made. */
function isListed(times: readonly string[], at: number, now: number): boolean {
  const replacedAt = times[at + 1]
  return replacedAt === undefined || Date.parse(replacedAt) + overlapMs > now
}

/** The paths of an agent; routes of other protocols are beside them. */
const agentPlaces = ['', '/inbox', '/outbox', '/followers', '/following', '/featured', '/feed.atom', '/posts/*']

type AnswerForUnknown = (context: Context, next: Next, place: string) => Promise<Response | undefined>

/** Requests about an agent that is not there, or not any more, go to `answer` first. */
export function addUnknownAgents(app: Hono, agents: Pick<AgentDirectory, 'find'>, answer: AnswerForUnknown): void {
  for (const place of agentPlaces) {
    app.use(`/agents/:agent${place}`, async (context, next) =>
      agents.find(context.req.param('agent') ?? '') ? next() : answer(context, next, place),
    )
  }
}

interface ActorRouteDeps {
  readonly agents: AgentDirectory
  readonly keys: Pick<KeyRing, 'find'>
  readonly readers: Pick<Readers, 'isSignedOnly' | 'admit'>
  readonly follows: ActivityPubConfig['follows']
}

export function addActors(app: Hono, { agents, keys, readers, follows }: ActorRouteDeps): void {
  const { origin, domain } = agents
  app.get('/actor', async context =>
    answerActivity(context, renderInstanceActor(domain, await keys.find(instanceActorIri(origin)), origin)),
  )
  // It only fetches and never posts.
  app.get('/actor/outbox', context => answerActivity(context, emptyCollection(`${instanceActorIri(origin)}/outbox`)))
  app.get('/agents/:agent', async function serveActor(context, next) {
    // People get the gateway's page from the same address.
    if (!asksForActivity(context.req.header('accept'))) {
      await next()
      context.header('vary', 'Accept', { append: true })
      return undefined
    }
    const agent = requireAgent(agents, context.req.param('agent'))
    if (readers.isSignedOnly) await readers.admit(context.req.raw)
    const document = renderActor(agent, await keys.find(agentIris(origin, agent.name).actor), { origin, follows })
    return answerActivity(context, document, audienceOf(readers))
  })
}

export function requireAgent(agents: AgentDirectory, name: string): AgentProfile {
  const agent = agents.find(name)
  if (!agent) throw new Rejection('no_recipient', 'Cannot find actor: there is no such agent')
  return agent
}

type Audience = 'everybody' | 'signers'

export function audienceOf({ isSignedOnly }: Pick<Readers, 'isSignedOnly'>): Audience {
  return isSignedOnly ? 'signers' : 'everybody'
}

/** A document that depends on the signature must not reach the next reader from a cache. */
const audienceHeaders: Readonly<Record<Audience, Readonly<Record<string, string>>>> = {
  everybody: { vary: 'Accept', 'cache-control': 'public, max-age=60' },
  signers: { vary: 'Accept, Signature, Signature-Input', 'cache-control': 'private, no-store' },
}

export function answerActivity(
  context: Context,
  document: Json,
  audience: Audience = 'everybody',
  status: 200 | 410 = 200,
): Response {
  const headers = { 'content-type': activityJsonUtf8, ...audienceHeaders[audience] }
  return context.body(JSON.stringify(document), status, headers)
}

const [, ldJson = ''] = activityAccept.split(', ')
const activityTypes = [activityJson, ldJson, 'application/ld+json', 'text/html']

/**
 * Whether a request asks for a document of the network: it names such a type, and prefers it to HTML or likes it as
 * much (RFC 9110 §12.5.1).
 */
export function asksForActivity(accept: string | undefined): boolean {
  if (!accept || !/(activity|ld)\+json/i.test(accept)) return false
  return acceptsType(accept, activityTypes) !== 'text/html'
}
