// Answers calls over the JSON-RPC binding of A2A.
import type { HotHandler, PlainAnswer } from '@postern/http'
import { sseHeaders, toSseJson } from '@postern/http'
import { recordCallerProof } from '@postern/http/tokens'
import type { Json } from '@postern/message'
import { isJsonObject } from '@postern/message'
import type { ChannelContext } from '@postern/pipeline'
import { createIntakeSteps } from '@postern/pipeline'
import { errorHeaders, jsonHeaders, reportError } from '../endpoint/answers.ts'
import type { AdmittedCall, Call, EndpointDeps, IncomingCall } from '../endpoint/call.ts'
import { findAddressee, listenerKeyOf } from '../endpoint/call.ts'
import { checkContentType, parseCallBody, readCallBody } from '../endpoint/call-body.ts'
import { extensionHeaders, listOfferedExtensions, negotiateExtensions, readReplay } from '../endpoint/extensions.ts'
import { negotiateVersion } from '../endpoint/negotiate-version.ts'
import { recordCallClaims, recordFailure, recordRefusedCall } from '../endpoint/record-call.ts'
import type { A2aError } from '../format/errors.ts'
import { A2aRejection, toErrorDetails } from '../format/errors.ts'
import type { OperationName, ProtocolVersion } from '../format/wire.ts'
import { isOperationName } from '../format/wire.ts'
import { readLegacyRequest, stripLegacyPush } from '../legacy/read-params.ts'
import { writeLegacyEvent, writeLegacyResult } from '../legacy/write-results.ts'
import type { BindingDeps } from '../operations/operation.ts'
import { findOperation } from '../operations/operations.ts'
import type { EventWriter, SseFormat } from '../streams/sse.ts'
import { createEventWriter, EventStream, renderSse, writePlainEvent } from '../streams/sse.ts'
import { readProtoNames } from '../validate/proto-names.ts'

/** Creates the JSON-RPC binding (A2A §9) of one agent. */
export function createRpcAnswer(deps: BindingDeps): HotHandler {
  return async ({ request, agent, from, queries }) => {
    const rpcCall: RpcCall = {
      request,
      agent,
      versionQuery: queries('A2A-Version')?.join(),
      from,
      steps: createIntakeSteps(deps.gateway.system),
      id: null,
    }
    let admittedCall: AdmittedCall | undefined
    try {
      admittedCall = await admitRpcCall(rpcCall, deps)
      const result = await findOperation(admittedCall.name, deps.operations)(admittedCall.call)
      const headers = renderHeaders(admittedCall)
      if (result instanceof EventStream) {
        const format = createSseFormat(rpcCall.id, admittedCall, deps.gateway)
        return { status: 200, headers: { ...headers, ...sseHeaders }, body: renderSse(result, format) }
      }
      const text = JSON.stringify({
        jsonrpc: '2.0',
        id: rpcCall.id,
        result: writeVersionedResult(admittedCall, result),
      })
      const isLarge = text.length >= deps.largeAnswers.largeFromChars
      const largeAnswer = isLarge ? deps.largeAnswers.open(text, listenerKeyOf(admittedCall.call)) : undefined
      return { status: 200, headers: { ...headers, ...largeAnswer?.headers }, body: largeAnswer?.body ?? text }
    } catch (error) {
      const record = admittedCall ? recordFailure : recordRefusedCall
      record(error, { ...rpcCall, binding: 'JSONRPC' }, deps.gateway)
      return renderRpcFailure(rpcCall.id, error, deps.gateway)
    }
  }
}

const eventWriters: Readonly<Record<ProtocolVersion, EventWriter>> = {
  '1.0': writePlainEvent,
  '0.3': createEventWriter(writeLegacyEvent),
}

/** Returns the format of a stream. Each event is a complete JSON-RPC response (A2A §9.4.2). */
function createSseFormat(id: RpcCall['id'], { call }: AdmittedCall, gateway: ChannelContext): SseFormat {
  return {
    writeEvent: eventWriters[call.version],
    frame: [`{"jsonrpc":"2.0","id":${toSseJson(id)},"result":`, '}'],
    formatError: error => toSseJson(renderRpcError(id, reportError(error, gateway))),
    hasIds: call.canReplay,
  }
}

function writeVersionedResult({ call, name }: AdmittedCall, result: object): unknown {
  return call.version === '0.3' ? writeLegacyResult(name as OperationName, result) : result
}

function renderHeaders({ extensions, call }: AdmittedCall): Record<string, string> {
  return extensions.length > 0
    ? { ...jsonHeaders, [extensionHeaders[call.version]]: extensions.join(', ') }
    : jsonHeaders
}

export function renderRpcFailure(id: RpcCall['id'], error: unknown, gateway: ChannelContext): PlainAnswer {
  const a2aError = reportError(error, gateway)
  const { isTransport, http } = a2aError.type
  return {
    status: isTransport ? http : 200,
    headers: { ...jsonHeaders, ...errorHeaders(a2aError) },
    body: JSON.stringify(renderRpcError(id, a2aError)),
  }
}

/** A call at the JSON-RPC binding. */
interface RpcCall extends IncomingCall {
  /** The id of the response. It is null until the request is parsed. */
  id: RpcId
}

/**
 * Runs all checks before an operation, the cheap ones first: agent, content type, caller, size, JSON, envelope, version. Calls that are rejected
 * here are recorded for the operator.
 * @throws Rejection, Unavailable
 */
async function admitRpcCall(rpcCall: RpcCall, deps: EndpointDeps): Promise<AdmittedCall> {
  const { config, gateway, verifyCaller } = deps
  const { request, from, steps } = rpcCall
  const { headers } = request
  recordCallClaims(steps, request, rpcCall.agent)
  const agent = findAddressee(rpcCall.agent, gateway)
  checkContentType(headers.get('content-type'), 'mediaTypeNotSupported')
  const startedAt = steps.now()
  const caller = await verifyCaller(request)
  recordCallerProof(steps, startedAt, caller)
  steps.recordClaims({ claimed_sender: caller.address, agent: agent.name })
  const bytes = await readCallBody(request, deps)
  const document = parseCallBody(bytes)
  rpcCall.id = readRpcId(document)
  const envelope = readRpcRequest(document)
  const version = negotiateVersion({
    header: headers.get('a2a-version'),
    query: rpcCall.versionQuery,
    offeredVersions: config.versions,
  })
  const parsedCall =
    version === '0.3'
      ? readLegacyCall(envelope, document, bytes)
      : { method: envelope.method, params: readProtoNames(envelope.params), document, bytes }
  const extensions = negotiateExtensions(headers.get(extensionHeaders[version]), listOfferedExtensions(gateway, agent))
  const { method: name, ...members } = parsedCall
  const call = {
    caller,
    agent,
    from,
    steps,
    request,
    version,
    ...members,
    binding: 'JSONRPC' as const,
    ...readReplay(headers, extensions),
  }
  return { name, extensions, call }
}

type ParsedCall = RpcRequest & Pick<Call, 'document' | 'bytes'>

/** Reads a call of 0.3. @throws A2aRejection `methodNotFound`, `versionNotSupported` for a method of 1.0 */
function readLegacyCall({ method, params }: RpcRequest, document: unknown, bytes: Uint8Array): ParsedCall {
  const legacyRequest = readLegacyRequest(method, params)
  if (!legacyRequest) {
    if (!isOperationName(method)) return { method, params, document, bytes }
    const problem = 'A2A-Version is absent or 0.3, which has no such method; name 1.0'
    throw new A2aRejection('versionNotSupported', `Cannot take request: ${problem}`)
  }
  const strippedDocument = stripLegacyPush(document)
  const strippedBytes = strippedDocument === document ? bytes : Buffer.from(JSON.stringify(strippedDocument))
  return { method: legacyRequest.name, params: legacyRequest.params, document: strippedDocument, bytes: strippedBytes }
}

type RpcId = string | number | null

/** A request object of JSON-RPC 2.0 §4. Its `params` is not checked yet. */
interface RpcRequest {
  readonly method: string
  readonly params: unknown
}

const maxIdLength = 1024

/** Returns the id of the response, which is `null` unless the request has a valid id (JSON-RPC 2.0 §5). */
function readRpcId(document: unknown): RpcId {
  const id = isJsonObject(document) ? document.id : undefined
  if (typeof id === 'string') return id.length <= maxIdLength ? id : null
  return typeof id === 'number' && Number.isFinite(id) ? id : null
}

/**
 * Reads a request. It rejects notifications, because every A2A operation has a result.
 * @throws A2aRejection `invalidRequest`
 */
export function readRpcRequest(document: unknown): RpcRequest {
  if (Array.isArray(document)) throw refuseRequest('batches are not supported')
  if (!isJsonObject(document)) throw refuseRequest('body must be an object')
  if (document.jsonrpc !== '2.0') throw refuseRequest('jsonrpc must be "2.0"')
  if (document.id === undefined) throw refuseRequest('id is missing; notifications are not supported')
  if (readRpcId(document) === null) throw refuseRequest('id must be a short string or a number')
  if (typeof document.method !== 'string') throw refuseRequest('method must be a string')
  return { method: document.method, params: document.params ?? {} }
}

function refuseRequest(problem: string): A2aRejection {
  return new A2aRejection('invalidRequest', `Cannot read request: ${problem}`)
}

function renderRpcError(id: RpcId, a2aError: A2aError): Json {
  const { type: row, message } = a2aError
  return { jsonrpc: '2.0', id, error: { code: row.code, message, data: toErrorDetails(a2aError) as unknown as Json } }
}
