import { recordRefusal } from '@postern/core'
import type { DoorRooms, EnteredCall, Knock } from '../door.ts'
import { checkContentType, findAddressee, readCallBody, readReplay } from '../door.ts'
import { A2aRejection } from '../errors.ts'
import { listExtensions, negotiateExtensions } from '../extensions.ts'
import { parseRpcBody } from '../rpc.ts'
import { readProtoNames } from '../validate/proto-names.ts'
import { isObject } from '../validate/shape.ts'
import { negotiateVersion } from '../version.ts'
import type { FoundRoute } from './find-route.ts'
import { findRestRoute } from './find-route.ts'
import { readQueryParams } from './read-query.ts'

/** A knock at the HTTP+JSON binding. `path` is what follows the endpoint. */
export interface RestKnock extends Omit<Knock, 'id'> {
  readonly path: string
  readonly query: URLSearchParams
}

/**
 * Everything before an operation, the cheap first: agent, path and method, content type, caller, version, size, JSON.
 * @throws Rejection, Unavailable
 */
export async function enterRest(knock: RestKnock, rooms: DoorRooms): Promise<EnteredCall> {
  try {
    return await openRestCall(knock, rooms)
  } catch (error) {
    recordRefusal(error, 'a2a', { ...rooms.house, from: knock.from })
    throw error
  }
}

async function openRestCall(knock: RestKnock, rooms: DoorRooms): Promise<EnteredCall> {
  const { house, authenticate } = rooms
  const { request, from } = knock
  const { headers } = request
  const agent = findAddressee(knock.agent, house)
  const found = findRestRoute(request.method, knock.path)
  if (found.route.input === 'body') checkContentType(headers.get('content-type'), 'contentTypeNotSupported')
  const caller = await authenticate(request)
  const version = negotiateVersion({ header: headers.get('a2a-version'), query: knock.versionQuery, offered })
  const extensions = negotiateExtensions(headers.get('a2a-extensions'), listExtensions(house))
  const bytes = found.route.input === 'query' ? noBytes : await readCallBody(request, rooms)
  const document = readInput(found, knock.query, bytes)
  const params = mergePath(readProtoNames(document), found)
  const call = {
    caller,
    agent,
    from,
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
  if (input === 'body') return parseRpcBody(bytes)
  return (bytes.length > 0 ? parseRpcBody(bytes) : undefined) ?? {}
}

/** @throws A2aRejection `invalidParams` for a body that says something else than the path */
function mergePath(document: unknown, { path }: FoundRoute): unknown {
  if (!isObject(document)) return document
  const odd = Object.entries(path).find(([name, value]) => (document[name] || value) !== value)
  if (odd) {
    const violations = [{ field: odd[0], description: 'is not the one of the path' }]
    throw new A2aRejection('invalidParams', `Cannot read request: ${odd[0]} is not the one of the path`, { violations })
  }
  return { ...document, ...path }
}
