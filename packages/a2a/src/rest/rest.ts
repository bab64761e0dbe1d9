import { createIntakeSteps, isJsonObject } from '@postern/core'
import { acceptsType, parseMediaType, peerAddress, sseHeaders } from '@postern/http'
import { noteCaller } from '@postern/http/tokens'
import type { Context } from 'hono'
import { answerStatus, jsonHeaders } from '../endpoint/answers.ts'
import type { EndpointDeps, EnteredCall, IncomingCall } from '../endpoint/call.ts'
import {
  checkContentType,
  claimCall,
  findAddressee,
  listenerKeyOf,
  listOfferedExtensions,
  negotiateExtensions,
  negotiateVersion,
  parseCallBody,
  readCallBody,
  readReplay,
  recordCall,
  recordFailure,
} from '../endpoint/call.ts'
import { refuseField } from '../format/errors.ts'
import type { BindingDeps } from '../operations/operation.ts'
import { findOperation } from '../operations/operations.ts'
import type { SseFormat } from '../streams/sse.ts'
import { EventStream, renderSse, writePlainEvent } from '../streams/sse.ts'
import { readProtoNames } from '../validate/params.ts'
import type { FoundRoute } from './routes.ts'
import { findRestRoute } from './routes.ts'

const endpoint = /^(?:\/agents\/[^/]+)?\/a2a\/rest/

/** The HTTP+JSON binding (A2A §11) of one agent, at every path behind its endpoint. */
export function createRestAnswer(deps: BindingDeps) {
  return async (c: Context): Promise<Response> => {
    const url = new URL(c.req.url)
    const incoming: RestCall = {
      request: c.req.raw,
      agent: c.req.param('agent'),
      path: url.pathname.replace(endpoint, ''),
      query: url.searchParams,
      versionQuery: c.req.queries('A2A-Version')?.join(),
      from: peerAddress(c.env),
      steps: createIntakeSteps(deps.gateway.platform),
    }
    let entered: EnteredCall | undefined
    try {
      entered = await enterRest(incoming, deps)
      const result = await findOperation(entered.name, deps.operations)(entered.call)
      const active = renderExtensions(entered)
      if (result instanceof EventStream)
        return c.body(renderSse(result, formatFor(entered)), 200, { ...sseHeaders, ...active })
      const { body, headers } = deps.largeAnswers.open(JSON.stringify(result), listenerKeyOf(entered.call))
      return c.body(body, 200, { ...jsonHeaders, 'content-type': chooseRestType(c.req.raw), ...active, ...headers })
    } catch (error) {
      const record = entered ? recordFailure : recordCall
      record(error, { ...incoming, binding: 'HTTP+JSON' }, deps.gateway)
      return answerStatus(c, error, deps.gateway, { 'content-type': chooseRestType(c.req.raw) })
    }
  }
}

/** Each event is a bare StreamResponse; what breaks a stream off is not told in it (A2A §11.7). */
function formatFor({ call }: EnteredCall): SseFormat {
  return { writeEvent: writePlainEvent, frame: ['', ''], formatError: () => undefined, withIds: call.canReplay }
}

function renderExtensions({ extensions }: EnteredCall): Record<string, string> {
  return extensions.length > 0 ? { 'a2a-extensions': extensions.join(', ') } : {}
}

/** What 1.0.1 names, and what everything before it did. */
const mediaTypes = ['application/a2a+json', 'application/json'] as const

type RestType = (typeof mediaTypes)[number]

/** The type to answer in: what `Accept` prefers; else, as the client said nothing of it, what it sent. */
function chooseRestType({ headers }: Request): RestType {
  const sent = parseMediaType(headers.get('content-type'))?.type
  const preferred = sent === 'application/json' ? mediaTypes.toReversed() : mediaTypes
  return (acceptsType(headers.get('accept'), preferred) ?? preferred[0]) as RestType
}

/** A call at the HTTP+JSON binding. `path` is what follows the endpoint. */
interface RestCall extends IncomingCall {
  readonly path: string
  readonly query: URLSearchParams
}

/**
 * Everything before an operation, the cheap first: agent, path and method, content type, caller, version, size, JSON.
 * @throws Rejection, Unavailable
 */
async function enterRest(incoming: RestCall, deps: EndpointDeps): Promise<EnteredCall> {
  const { gateway, verifyCaller } = deps
  const { request, from, steps } = incoming
  const { headers } = request
  claimCall(steps, request, incoming.agent)
  const agent = findAddressee(incoming.agent, gateway)
  const found = findRestRoute(request.method, incoming.path)
  if (found.route.input === 'body') checkContentType(headers.get('content-type'), 'contentTypeNotSupported')
  const since = steps.now()
  const caller = await verifyCaller(request)
  noteCaller(steps, since, caller)
  steps.claim({ claimed_sender: caller.address, agent: agent.name })
  const version = negotiateVersion({
    header: headers.get('a2a-version'),
    query: incoming.versionQuery,
    offered: restVersions,
  })
  const extensions = negotiateExtensions(headers.get('a2a-extensions'), listOfferedExtensions(gateway))
  const bytes = found.route.input === 'query' ? noBytes : await readCallBody(request, deps)
  const document = readInput(found, incoming.query, bytes)
  const params = mergePath(readProtoNames(document), found)
  const call = {
    caller,
    agent,
    from,
    steps,
    request,
    params,
    document,
    bytes,
    binding: 'HTTP+JSON' as const,
    version,
    ...readReplay(headers, extensions),
  }
  return { name: found.route.operation, extensions, call }
}

const noBytes = new Uint8Array()

/** The paths of 0.3 are others. */
const restVersions = ['1.0'] as const

function readInput({ route: { input } }: FoundRoute, query: URLSearchParams, bytes: Uint8Array): unknown {
  if (input === 'query') return readQueryParams(query)
  if (input === 'body') return parseCallBody(bytes)
  return (bytes.length > 0 ? parseCallBody(bytes) : undefined) ?? {}
}

/** @throws A2aRejection `invalidParams` for a body that says something else than the path */
function mergePath(document: unknown, { path }: FoundRoute): unknown {
  if (!isJsonObject(document)) return document
  const odd = Object.entries(path).find(([name, value]) => (document[name] || value) !== value)
  if (odd) throw refuseField('Cannot read request', odd[0], 'is not the one of the path')
  return { ...document, ...path }
}

/** Parameters of a query that are not strings (A2A §11.5). */
const readers: Readonly<Record<string, (text: string) => unknown>> = {
  historyLength: readInteger,
  pageSize: readInteger,
  includeArtifacts: text => ({ true: true, false: false })[text] ?? text,
}

/** Parameters of the path and the version are no parameters of an operation. */
const passedOver = 'a2a-version'

/** The query as parameters. Unreadable values stay strings, and the validator names them. If a name occurs twice, the last one counts. */
function readQueryParams(query: URLSearchParams): Readonly<Record<string, unknown>> {
  const params: [string, unknown][] = []
  for (const [name, text] of query) {
    if (name.toLowerCase() !== passedOver) params.push([name, readParam(name, text)])
  }
  return Object.fromEntries(params)
}

function readParam(name: string, text: string): unknown {
  const read = Object.hasOwn(readers, name) ? readers[name] : undefined
  return read ? read(text) : text
}

function readInteger(text: string): unknown {
  return /^-?\d{1,15}$/.test(text) ? Number(text) : text
}
