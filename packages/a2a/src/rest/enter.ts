import { isJsonObject } from '@postern/core'
import { noteCaller } from '@postern/http/tokens'
import type { EndpointDeps, EnteredCall, IncomingCall } from '../endpoint/call.ts'
import {
  checkContentType,
  claimCall,
  findAddressee,
  listOfferedExtensions,
  negotiateExtensions,
  parseCallBody,
  readCallBody,
  readReplay,
  recordCall,
} from '../endpoint/call.ts'
import { A2aRejection } from '../format/errors.ts'
import { negotiateVersion } from '../format/wire.ts'
import { readProtoNames } from '../validate/params.ts'
import type { FoundRoute } from './find-route.ts'
import { findRestRoute } from './find-route.ts'
import { readQueryParams } from './read-query.ts'

/** A call at the HTTP+JSON binding. `path` is what follows the endpoint. */
export interface RestCall extends IncomingCall {
  readonly path: string
  readonly query: URLSearchParams
}

/**
 * Everything before an operation, the cheap first: agent, path and method, content type, caller, version, size, JSON.
 * @throws Rejection, Unavailable
 */
export async function enterRest(incoming: RestCall, deps: EndpointDeps): Promise<EnteredCall> {
  try {
    return await openRestCall(incoming, deps)
  } catch (error) {
    recordCall(error, { ...incoming, binding: 'HTTP+JSON' }, deps.gateway)
    throw error
  }
}

async function openRestCall(incoming: RestCall, deps: EndpointDeps): Promise<EnteredCall> {
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
  const version = negotiateVersion({ header: headers.get('a2a-version'), query: incoming.versionQuery, offered })
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
  return { name: found.route.operation, version, extensions, call }
}

const noBytes = new Uint8Array()

/** The paths of 0.3 are others. */
const offered = ['1.0'] as const

function readInput({ route: { input } }: FoundRoute, query: URLSearchParams, bytes: Uint8Array): unknown {
  if (input === 'query') return readQueryParams(query)
  if (input === 'body') return parseCallBody(bytes)
  return (bytes.length > 0 ? parseCallBody(bytes) : undefined) ?? {}
}

/** @throws A2aRejection `invalidParams` for a body that says something else than the path */
function mergePath(document: unknown, { path }: FoundRoute): unknown {
  if (!isJsonObject(document)) return document
  const odd = Object.entries(path).find(([name, value]) => (document[name] || value) !== value)
  if (odd) {
    const violations = [{ field: odd[0], description: 'is not the one of the path' }]
    throw new A2aRejection('invalidParams', `Cannot read request: ${odd[0]} is not the one of the path`, { violations })
  }
  return { ...document, ...path }
}
