import type { AgentProfile, ChannelContext } from '@postern/core'
import { Rejection, recordRefusal } from '@postern/core'
import { parseMediaType, readBody } from '@postern/http'
import type { Authenticate } from './authenticate.ts'
import type { A2aConfig } from './config.ts'
import type { FaultName } from './errors.ts'
import { A2aRejection } from './errors.ts'
import { listExtensions, negotiateExtensions, replayExtension } from './extensions.ts'
import { readLegacyRequest, stripLegacyPush } from './legacy/read-params.ts'
import { isOperationName } from './operations/operation-names.ts'
import type { RpcId, RpcRequest } from './rpc.ts'
import { parseRpcBody, readRpcId, readRpcRequest } from './rpc.ts'
import { readProtoNames } from './validate/proto-names.ts'
import type { Call } from './verify.ts'
import type { ProtocolVersion } from './version.ts'
import { negotiateVersion, refuseNewMethod } from './version.ts'

export interface EndpointDeps {
  readonly config: A2aConfig
  readonly gateway: ChannelContext
  readonly authenticate: Authenticate
}

/** What came to the endpoint of an agent. */
export interface IncomingCall {
  readonly request: Request
  /** Of the path; undefined means the default agent. */
  readonly agent: string | undefined
  /** `A2A-Version` of the query. */
  readonly versionQuery: string | undefined
  readonly from: string
  /** The id to answer under, as soon as it is known. */
  id: RpcId
}

/** A call that has come through the door, and the operation it names. */
export interface EnteredCall {
  readonly name: string
  readonly version: ProtocolVersion
  readonly call: Call
  /** Those of ours that the caller switched on. */
  readonly extensions: readonly string[]
}

/**
 * Everything before an operation, the cheap first: agent, content type, caller, size, JSON, envelope, version.
 * What is refused here is remembered for the operator.
 * @throws Rejection, Unavailable
 */
export async function enterRpc(incoming: IncomingCall, deps: EndpointDeps): Promise<EnteredCall> {
  try {
    return await openCall(incoming, deps)
  } catch (error) {
    recordRefusal(error, 'a2a', { ...deps.gateway, from: incoming.from })
    throw error
  }
}

async function openCall(incoming: IncomingCall, deps: EndpointDeps): Promise<EnteredCall> {
  const { config, gateway, authenticate } = deps
  const { request, from } = incoming
  const { headers } = request
  const agent = findAddressee(incoming.agent, gateway)
  checkContentType(headers.get('content-type'), 'mediaTypeNotSupported')
  const caller = await authenticate(request)
  const bytes = await readCallBody(request, deps)
  const document = parseRpcBody(bytes)
  incoming.id = readRpcId(document)
  const envelope = readRpcRequest(document)
  const version = negotiateVersion({
    header: headers.get('a2a-version'),
    query: incoming.versionQuery,
    offered: config.versions,
  })
  const asked =
    version === '0.3'
      ? readLegacyCall(envelope, document, bytes)
      : { method: envelope.method, params: readProtoNames(envelope.params), document, bytes }
  const extensions = negotiateExtensions(headers.get(extensionHeaders[version]), listExtensions(gateway))
  const { method: name, ...rest } = asked
  const call = {
    caller,
    agent,
    from,
    version,
    ...rest,
    binding: 'JSONRPC' as const,
    ...readReplay(headers, extensions),
  }
  return { name, version, extensions, call }
}

/** What the header is called in which the caller names extensions, and we those that are on. */
export const extensionHeaders: Readonly<Record<ProtocolVersion, string>> = {
  '1.0': 'a2a-extensions',
  '0.3': 'x-a2a-extensions',
}

type ReadCall = Pick<RpcRequest, 'method' | 'params'> & Pick<Call, 'document' | 'bytes'>

/** @throws A2aRejection `methodNotFound`, `versionNotSupported` for a method of 1.0 */
function readLegacyCall({ method, params }: RpcRequest, document: unknown, bytes: Uint8Array): ReadCall {
  const legacy = readLegacyRequest(method, params)
  if (!legacy) {
    if (isOperationName(method)) throw refuseNewMethod()
    return { method, params, document, bytes }
  }
  const kept = stripLegacyPush(document)
  const keptBytes = kept === document ? bytes : Buffer.from(JSON.stringify(kept))
  return { method: legacy.name, params: legacy.params, document: kept, bytes: keptBytes }
}

/** Where a caller who was cut off wants to go on; only for callers who know of it. */
export function readReplay(headers: Headers, extensions: readonly string[]): Pick<Call, 'lastEventId' | 'canReplay'> {
  const canReplay = extensions.includes(replayExtension)
  return { canReplay, lastEventId: canReplay ? (headers.get('last-event-id') ?? undefined) : undefined }
}

/** @throws Rejection; A2aRejection `mediaTypeNotSupported` for a content coding */
export async function readCallBody(request: Request, { config }: Pick<EndpointDeps, 'config'>): Promise<Uint8Array> {
  try {
    return await readBody(request, config.limits.body_bytes)
  } catch (error) {
    if (!(error instanceof Rejection) || error.code !== 'unsupported') throw error
    throw new A2aRejection('mediaTypeNotSupported', error.message, { cause: error })
  }
}

const agentName = /^[a-z0-9._-]{1,64}$/

/** @throws A2aRejection `notFound` */
export function findAddressee(name: string | undefined, { agents }: Pick<ChannelContext, 'agents'>): AgentProfile {
  const wanted = name ?? agents.defaultAgent ?? ''
  const agent = agentName.test(wanted) ? agents.find(wanted) : undefined
  if (!agent) throw new A2aRejection('notFound', 'Agent not found')
  return agent
}

const jsonTypes: ReadonlySet<string> = new Set(['application/json', 'application/a2a+json'])

/** @throws A2aRejection `fault`; `parseError` for a charset that JSON cannot be in (RFC 8259 §8.1) */
export function checkContentType(header: string | null, fault: FaultName): void {
  if (header === 'application/json') return
  const media = parseMediaType(header)
  if (!media || !jsonTypes.has(media.type)) {
    throw new A2aRejection(fault, 'Cannot read request: content type must be application/json')
  }
  const charset = media.parameters.get('charset') ?? 'utf-8'
  if (!/^utf-?8$/i.test(charset)) throw new A2aRejection('parseError', 'Cannot read request: charset must be utf-8')
}
