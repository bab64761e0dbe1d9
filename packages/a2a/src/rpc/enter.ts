import { noteCaller } from '@postern/http/tokens'
import { findAddressee } from '../endpoint/addressee.ts'
import { checkContentType, parseCallBody, readCallBody } from '../endpoint/body.ts'
import type { Call } from '../endpoint/call.ts'
import { extensionHeaders, listOfferedExtensions, negotiateExtensions, readReplay } from '../endpoint/extensions.ts'
import type { EndpointDeps, EnteredCall, IncomingCall } from '../endpoint/incoming.ts'
import { claimCall, recordCall } from '../endpoint/refusals.ts'
import { isOperationName } from '../format/operation-names.ts'
import { negotiateVersion, refuseNewMethod } from '../format/version.ts'
import { readLegacyRequest, stripLegacyPush } from '../legacy/read-params.ts'
import { readProtoNames } from '../validate/proto-names.ts'
import type { RpcId, RpcRequest } from './envelope.ts'
import { readRpcId, readRpcRequest } from './envelope.ts'

/** A call at the JSON-RPC binding. */
export interface RpcCall extends IncomingCall {
  /** The id of the answer, as soon as it is known. */
  id: RpcId
}

/**
 * All checks before an operation, the cheap ones first: agent, content type, caller, size, JSON, envelope, version. The operator's list
 * keeps what is refused here. @throws Rejection, Unavailable
 */
export async function enterRpc(incoming: RpcCall, deps: EndpointDeps): Promise<EnteredCall> {
  try {
    return await openCall(incoming, deps)
  } catch (error) {
    recordCall(error, { ...incoming, binding: 'JSONRPC' }, deps.gateway)
    throw error
  }
}

async function openCall(incoming: RpcCall, deps: EndpointDeps): Promise<EnteredCall> {
  const { config, gateway, verifyCaller } = deps
  const { request, from, steps } = incoming
  const { headers } = request
  claimCall(steps, request, incoming.agent)
  const agent = findAddressee(incoming.agent, gateway)
  checkContentType(headers.get('content-type'), 'mediaTypeNotSupported')
  const since = steps.now()
  const caller = await verifyCaller(request)
  noteCaller(steps, since, caller)
  steps.claim({ claimed_sender: caller.address, agent: agent.name })
  const bytes = await readCallBody(request, deps)
  const document = parseCallBody(bytes)
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
  const extensions = negotiateExtensions(headers.get(extensionHeaders[version]), listOfferedExtensions(gateway))
  const { method: name, ...rest } = asked
  const call = {
    caller,
    agent,
    from,
    steps,
    request,
    version,
    ...rest,
    binding: 'JSONRPC' as const,
    ...readReplay(headers, extensions),
  }
  return { name, version, extensions, call }
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
