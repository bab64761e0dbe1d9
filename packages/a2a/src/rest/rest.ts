// Answers calls over the HTTP+JSON binding of A2A.
import type { HotHandler, IncomingRequest } from '@postern/http'
import { parseMediaType, selectMediaType, sseHeaders } from '@postern/http'
import { recordCallerProof } from '@postern/http/tokens'
import { isJsonObject } from '@postern/message'
import { createIntakeSteps } from '@postern/pipeline'
import { jsonHeaders, renderStatus } from '../endpoint/answers.ts'
import type { AdmittedCall, EndpointDeps, IncomingCall } from '../endpoint/call.ts'
import { findAddressee, listenerKeyOf } from '../endpoint/call.ts'
import { checkContentType, parseCallBody, readCallBody } from '../endpoint/call-body.ts'
import { listOfferedExtensions, negotiateExtensions, readReplay } from '../endpoint/extensions.ts'
import { negotiateVersion } from '../endpoint/negotiate-version.ts'
import { recordCallClaims, recordFailure, recordRefusedCall } from '../endpoint/record-call.ts'
import { refuseField } from '../format/errors.ts'
import type { BindingDeps } from '../operations/operation.ts'
import { findOperation } from '../operations/operations.ts'
import type { SseFormat } from '../streams/sse.ts'
import { EventStream, renderSse, writePlainEvent } from '../streams/sse.ts'
import { readProtoNames } from '../validate/proto-names.ts'
import type { RouteMatch } from './routes.ts'
import { findRestRoute } from './routes.ts'

const endpointPattern = /^(?:\/agents\/[^/]+)?\/a2a\/rest/

/** Creates the HTTP+JSON binding (A2A §11) of one agent, at every path below its endpoint. */
export function createRestAnswer(deps: BindingDeps): HotHandler {
  return async ({ request, agent, from, queries }) => {
    // The host may be none that a URL can have, and nothing here depends on it.
    const url = new URL(request.url.replace(/^[^/]*\/\/[^/]*/, 'http://localhost'))
    const restCall: RestCall = {
      request,
      agent,
      path: url.pathname.replace(endpointPattern, ''),
      query: url.searchParams,
      versionQuery: queries('A2A-Version')?.join(),
      from,
      steps: createIntakeSteps(deps.gateway.system),
    }
    let admittedCall: AdmittedCall | undefined
    try {
      admittedCall = await admitRestCall(restCall, deps)
      const result = await findOperation(admittedCall.name, deps.operations)(admittedCall.call)
      const extensionFields = renderExtensions(admittedCall)
      if (result instanceof EventStream) {
        const body = renderSse(result, createSseFormat(admittedCall))
        return { status: 200, headers: { ...sseHeaders, ...extensionFields }, body }
      }
      const { body, headers } = deps.largeAnswers.open(JSON.stringify(result), listenerKeyOf(admittedCall.call))
      const typeField = { 'content-type': chooseRestType(request) }
      return { status: 200, headers: { ...jsonHeaders, ...typeField, ...extensionFields, ...headers }, body }
    } catch (error) {
      const record = admittedCall ? recordFailure : recordRefusedCall
      record(error, { ...restCall, binding: 'HTTP+JSON' }, deps.gateway)
      return renderStatus(error, deps.gateway, { 'content-type': chooseRestType(request) })
    }
  }
}

/** Returns the format of a stream. Each event is a plain StreamResponse, and an error that ends the stream has no event (A2A §11.7). */
function createSseFormat({ call }: AdmittedCall): SseFormat {
  return { writeEvent: writePlainEvent, frame: ['', ''], formatError: () => undefined, hasIds: call.canReplay }
}

function renderExtensions({ extensions }: AdmittedCall): Record<string, string> {
  return extensions.length > 0 ? { 'a2a-extensions': extensions.join(', ') } : {}
}

/** The media type of A2A 1.0.1, and the media type of earlier versions. */
const mediaTypes = ['application/a2a+json', 'application/json'] as const

type RestType = (typeof mediaTypes)[number]

/** Chooses the media type of the response. `Accept` decides, or else the media type of the request. */
function chooseRestType({ headers }: IncomingRequest): RestType {
  const requestType = parseMediaType(headers.get('content-type'))?.type
  const preferredTypes = requestType === 'application/json' ? mediaTypes.toReversed() : mediaTypes
  return (selectMediaType(headers.get('accept'), preferredTypes) ?? preferredTypes[0]) as RestType
}

/** A call at the HTTP+JSON binding. `path` is the part after the endpoint. */
interface RestCall extends IncomingCall {
  readonly path: string
  readonly query: URLSearchParams
}

/**
 * Runs all checks before an operation, the cheap ones first: agent, path and method, content type, caller, version, size, JSON.
 * @throws Rejection, Unavailable
 */
async function admitRestCall(restCall: RestCall, deps: EndpointDeps): Promise<AdmittedCall> {
  const { gateway, verifyCaller } = deps
  const { request, from, steps } = restCall
  const { headers } = request
  recordCallClaims(steps, request, restCall.agent)
  const agent = findAddressee(restCall.agent, gateway)
  const match = findRestRoute(request.method, restCall.path)
  if (match.route.input === 'body') checkContentType(headers.get('content-type'), 'contentTypeNotSupported')
  const startedAt = steps.now()
  const caller = await verifyCaller(request)
  recordCallerProof(steps, startedAt, caller)
  steps.recordClaims({ claimed_sender: caller.address, agent: agent.name })
  const version = negotiateVersion({
    header: headers.get('a2a-version'),
    query: restCall.versionQuery,
    offeredVersions: restVersions,
  })
  const extensions = negotiateExtensions(headers.get('a2a-extensions'), listOfferedExtensions(gateway, agent))
  const bytes = match.route.input === 'query' ? noBytes : await readCallBody(request, deps)
  const document = readInput(match, restCall.query, bytes)
  const params = mergePathParams(readProtoNames(document), match)
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
  return { name: match.route.operation, extensions, call }
}

const noBytes = new Uint8Array()

/** The versions of this binding. Version 0.3 has other paths, which the gateway does not serve. */
const restVersions = ['1.0'] as const

function readInput({ route: { input } }: RouteMatch, query: URLSearchParams, bytes: Uint8Array): unknown {
  if (input === 'query') return readQueryParams(query)
  if (input === 'body') return parseCallBody(bytes)
  return (bytes.length > 0 ? parseCallBody(bytes) : undefined) ?? {}
}

/** Adds the parameters of the path to those of the body. @throws A2aRejection `invalidParams` for a body that contradicts the path */
function mergePathParams(document: unknown, { pathParams: path }: RouteMatch): unknown {
  if (!isJsonObject(document)) return document
  const contradiction = Object.entries(path).find(([name, value]) => (document[name] || value) !== value)
  if (contradiction) throw refuseField('Cannot read request', contradiction[0], 'is not the one of the path')
  return { ...document, ...path }
}

/** The parameters of a query that are not strings (A2A §11.5). */
const queryReaders: Readonly<Record<string, (text: string) => unknown>> = {
  historyLength: readInteger,
  pageSize: readInteger,
  includeArtifacts: text => ({ true: true, false: false })[text] ?? text,
}

/** The parameter of a query that is not a parameter of an operation. */
const ignoredParam = 'a2a-version'

/** Returns the query as parameters. Unreadable values stay strings, and the validator names them. If a name occurs twice, the last one counts. */
function readQueryParams(query: URLSearchParams): Readonly<Record<string, unknown>> {
  const params: [string, unknown][] = []
  for (const [name, text] of query) {
    if (name.toLowerCase() !== ignoredParam) params.push([name, readParam(name, text)])
  }
  return Object.fromEntries(params)
}

function readParam(name: string, text: string): unknown {
  const read = Object.hasOwn(queryReaders, name) ? queryReaders[name] : undefined
  return read ? read(text) : text
}

function readInteger(text: string): unknown {
  return /^-?\d{1,15}$/.test(text) ? Number(text) : text
}
