// Routes requests to the simulated fediverse servers: WebFinger, actors, notes, inboxes.
import type { SimAnswer, SimRequest } from '../net/loopback-server.ts'
import { answerJson } from '../net/loopback-server.ts'
import type { SimActor } from './actors/actor.ts'
import { describeActor, describeActorPart, describeBareKey } from './actors/actor.ts'
import type { ActivityDocument } from './actors/note.ts'
import { publicAddressee } from './actors/note.ts'
import type { ServerBehaviour } from './actors/persona.ts'
import { fediverseHosts } from './actors/persona.ts'
import type { ServedFile } from './deliver.ts'
import type { SimInbox } from './inbox.ts'
import { activityMediaType } from './signatures/sign.ts'
import type { SignatureChecks } from './signatures/verify.ts'
import { verifySigner } from './signatures/verify.ts'

interface FediverseDeps {
  readonly actors: ReadonlyMap<string, SimActor>
  readonly inbox: SimInbox
  /** Notes by their id. */
  readonly notes: ReadonlyMap<string, ActivityDocument>
  /** Files by their address. */
  readonly media: ReadonlyMap<string, ServedFile>
  /** Checks by host. */
  readonly checks: ReadonlyMap<string, SignatureChecks>
}

type Handler = (request: SimRequest, deps: FediverseDeps, match: RegExpMatchArray) => Promise<SimAnswer>

interface Route {
  readonly method: string
  readonly path: RegExp
  readonly handle: Handler
}

const notFound: SimAnswer = { status: 404 }

const routes: readonly Route[] = [
  { method: 'GET', path: /^\/\.well-known\/webfinger$/, handle: answerWebFinger },
  { method: 'GET', path: /^\/\.well-known\/nodeinfo$/, handle: async ({ host }) => answerJson(linkNodeInfo(host)) },
  { method: 'GET', path: /^\/nodeinfo\/2\.0$/, handle: answerNodeInfo },
  { method: 'GET', path: /^\/users\/([^/]+)\/main-key$/, handle: forActor(answerKey) },
  { method: 'GET', path: /^\/(?:users|moved)\/([^/]+)$/, handle: forActor(answerActor) },
  { method: 'GET', path: /^\/users\/([^/]+)\/statuses\/([^/]+)(\/activity)?$/, handle: answerNote },
  { method: 'GET', path: /^\/users\/([^/]+)\/(followers|following|outbox)$/, handle: forActor(answerCollection) },
  { method: 'GET', path: /^\/media\/\d+$/, handle: answerFile },
  { method: 'POST', path: /^\/inbox$/, handle: answerInbox },
  { method: 'POST', path: /^\/users\/([^/]+)\/inbox$/, handle: forActor(answerInbox) },
]

/** Answers for every host of the fediverse, by the `Host` field. */
export async function answerFediverse(request: SimRequest, deps: FediverseDeps): Promise<SimAnswer> {
  if (!fediverseHosts[request.host]) return notFound
  const matchingRoutes = routes.flatMap(route => {
    const match = request.path.match(route.path)
    return match ? [{ route, match }] : []
  })
  const chosenRoute = matchingRoutes.find(({ route }) => route.method === request.method)
  if (!chosenRoute) return matchingRoutes.length > 0 ? { status: 405 } : notFound
  return chosenRoute.route.handle(request, deps, chosenRoute.match)
}

function findActor({ host }: SimRequest, { actors }: FediverseDeps, name: string | undefined): SimActor | undefined {
  return actors.get(`${name}@${host}`)
}

async function answerWebFinger(request: SimRequest, deps: FediverseDeps): Promise<SimAnswer> {
  const resource = request.query.get('resource') ?? ''
  const name = resource.match(/^acct:([^@]+)@/)?.[1] ?? resource.match(/\/users\/([^/]+)$/)?.[1]
  const actor = findActor(request, deps, name)
  if (!actor) return notFound
  const links = [
    { rel: 'http://webfinger.net/rel/profile-page', type: 'text/html', href: `https://${actor.host}/@${actor.name}` },
    { rel: 'self', type: activityMediaType, href: actor.id },
  ]
  return answerJson({ subject: `acct:${actor.address}`, aliases: [actor.id], links }, 'application/jrd+json')
}

async function answerFile({ host, path }: SimRequest, { media }: FediverseDeps): Promise<SimAnswer> {
  const file = media.get(`https://${host}${path}`)
  if (!file) return notFound
  return { status: 200, headers: { 'content-type': file.mediaType }, body: Buffer.from(file.bytes) }
}

type ActorHandler = (request: SimRequest, deps: FediverseDeps, actor: SimActor) => Promise<SimAnswer>

/** Wraps a handler so that it receives the actor that the path names. */
function forActor(handle: ActorHandler): Handler {
  return async (request, deps, [, name]) => {
    const actor = findActor(request, deps, name)
    return actor ? handle(request, deps, actor) : notFound
  }
}

async function answerActor(request: SimRequest, deps: FediverseDeps, actor: SimActor): Promise<SimAnswer> {
  const refusal = await refuseReader(request, actor.persona, deps)
  if (refusal) return refusal
  return answerJson(await describeActor(actor), `${activityMediaType}; charset=utf-8`)
}

async function answerKey(request: SimRequest, deps: FediverseDeps, actor: SimActor): Promise<SimAnswer> {
  if (!actor.keyId.endsWith(request.path)) return notFound
  const refusal = request.headers.signature ? await refuseReader(request, actor.persona, deps) : undefined
  if (refusal) return refusal
  return answerJson(await keyDocuments[actor.persona.keyDocument](actor), activityMediaType)
}

const keyDocuments: Readonly<Record<ServerBehaviour['keyDocument'], typeof describeActorPart>> = {
  part: describeActorPart,
  bare: describeBareKey,
}

/** Refuses readers of servers in secure mode: those without a signature, and for GoToSocial also those without a confirmed name. */
async function refuseReader(
  request: SimRequest,
  { isSecureMode }: ServerBehaviour,
  { checks }: FediverseDeps,
): Promise<SimAnswer | undefined> {
  const hostChecks = checks.get(request.host)
  if (!isSecureMode || !hostChecks) return undefined
  const signer = await verifySigner(request, hostChecks).catch(() => undefined)
  if (!signer) return answerJson({ error: 'Unauthorized: request signature required' }, undefined, 401)
  return hostChecks.checkReader(signer).then(
    () => undefined,
    error => answerJson({ error: `Internal Server Error: ${error}` }, undefined, 500),
  )
}

async function answerNote(
  request: SimRequest,
  { notes }: FediverseDeps,
  [, , , activity]: RegExpMatchArray,
): Promise<SimAnswer> {
  const create = notes.get(`https://${request.host}${request.path.replace(/\/activity$/, '')}`)
  const audience = [create?.to, create?.cc].flat()
  if (!create || !audience.includes(publicAddressee)) return notFound
  const document = activity ? create : { '@context': create['@context'], ...create.object }
  return answerJson(document, `${activityMediaType}; charset=utf-8`)
}

async function answerCollection({ host, path }: SimRequest): Promise<SimAnswer> {
  const id = `https://${host}${path}`
  const context = 'https://www.w3.org/ns/activitystreams'
  return answerJson({ '@context': context, id, type: 'OrderedCollection', totalItems: 0 }, activityMediaType)
}

function answerInbox(request: SimRequest, { inbox }: FediverseDeps): Promise<SimAnswer> {
  return inbox.accept(request)
}

function linkNodeInfo(host: string): unknown {
  return {
    links: [{ rel: 'http://nodeinfo.diaspora.software/ns/schema/2.0', href: `https://${host}/nodeinfo/2.0` }],
  }
}

async function answerNodeInfo({ host }: SimRequest): Promise<SimAnswer> {
  const plan = fediverseHosts[host]
  return answerJson({
    version: '2.0',
    software: { name: plan?.persona.software, version: plan?.persona.version },
    protocols: ['activitypub'],
    services: { inbound: [], outbound: [] },
    openRegistrations: false,
    usage: { users: { total: plan?.users.length } },
    metadata: {},
  })
}
