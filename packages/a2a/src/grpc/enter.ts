import type { Metadata } from '@grpc/grpc-js'
import type { IntakeSteps } from '@postern/core'
import { isJsonObject } from '@postern/core'
import type { EndpointDeps, EnteredCall } from '../endpoint/call.ts'
import {
  findAddressee,
  listOfferedExtensions,
  negotiateExtensions,
  parseCallBody,
  recordCall,
  replayExtension,
} from '../endpoint/call.ts'
import { negotiateVersion } from '../format/wire.ts'
import type { Caller } from '../verify.ts'
import { readMetadata } from './metadata.ts'
import type { GrpcMethod } from './methods.ts'

/** A call with its request still in bytes. */
interface IncomingGrpcCall {
  readonly method: GrpcMethod
  readonly metadata: Metadata
  readonly request: Uint8Array
  readonly from: string
  /** The admitted caller. */
  readonly caller: Caller
  /** The checks so far. */
  readonly steps: IntakeSteps
}

/** All checks between the caller and an operation, the cheap ones first: version, message, agent. @throws Rejection */
export function enterGrpc(incoming: IncomingGrpcCall, deps: EndpointDeps): EnteredCall {
  try {
    return openGrpcCall(incoming, deps)
  } catch (error) {
    recordCall(error, { ...incoming, request: incoming.metadata, binding: 'GRPC' }, deps.gateway)
    throw error
  }
}

function openGrpcCall(incoming: IncomingGrpcCall, deps: EndpointDeps): EnteredCall {
  const { method, metadata, request, from, caller, steps } = incoming
  const headers = readMetadata(metadata)
  const version = negotiateVersion({ header: headers.get('a2a-version'), query: undefined, offered })
  const named = negotiateExtensions(headers.get('a2a-extensions'), listOfferedExtensions(deps.gateway))
  const extensions = named.filter(uri => uri !== replayExtension)
  const bytes = Buffer.from(JSON.stringify(method.readParams(request)))
  // The same bounds as in the other bindings.
  const document = parseCallBody(bytes)
  const { tenant, params } = takeTenant(document)
  steps.claim({ agent: tenant })
  const agent = findAddressee(tenant, deps.gateway)
  const came = { caller, from, steps, request: metadata }
  // Events have no field for an id, so no stream can be continued.
  const replay = { lastEventId: undefined, canReplay: false }
  const call = { ...came, agent, params, document, bytes, binding: 'GRPC' as const, version, ...replay }
  return { name: method.operation, version, extensions, call }
}

/** The package of the protobuf file is that of 1.0. */
const offered = ['1.0'] as const

/** One service has all agents. Each is a tenant that its card names; without one it is the default agent (A2A §8.3). */
function takeTenant(document: unknown): { readonly tenant: string | undefined; readonly params: unknown } {
  if (!isJsonObject(document)) return { tenant: undefined, params: document }
  const { tenant, ...params } = document
  return { tenant: typeof tenant === 'string' && tenant !== '' ? tenant : undefined, params }
}
