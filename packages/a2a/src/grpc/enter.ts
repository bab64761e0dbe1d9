import type { Metadata, ServerInterceptor } from '@grpc/grpc-js'
import { ServerInterceptingCall } from '@grpc/grpc-js'
import type { IntakeSteps } from '@postern/core'
import { createIntakeSteps, isJsonObject, Rejection } from '@postern/core'
import { noteCaller } from '@postern/http/tokens'
import type { EndpointDeps, EnteredCall } from '../endpoint/call.ts'
import {
  claimCall,
  findAddressee,
  listOfferedExtensions,
  negotiateExtensions,
  negotiateVersion,
  parseCallBody,
  recordCall,
  replayExtension,
} from '../endpoint/call.ts'
import type { Caller } from '../verify.ts'
import type { GrpcMethod } from './methods.ts'
import { readMetadata, readPeer, refuseMalformed, toGrpcError } from './status.ts'

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
  return { name: method.operation, extensions, call }
}

/** The package of the protobuf file is that of 1.0. */
const offered = ['1.0'] as const

/** One service has all agents. Each is a tenant that its card names; without one it is the default agent (A2A §8.3). */
function takeTenant(document: unknown): { readonly tenant: string | undefined; readonly params: unknown } {
  if (!isJsonObject(document)) return { tenant: undefined, params: document }
  const { tenant, ...params } = document
  return { tenant: typeof tenant === 'string' && tenant !== '' ? tenant : undefined, params }
}

/** Counts a call of a network address. @throws Rejection `rate_limited` */
export type TakeAddress = (address: string) => void

interface CallerCheckDeps extends EndpointDeps {
  readonly takeAddress: TakeAddress
}

interface AdmittedCaller {
  readonly caller: Caller
  readonly steps: IntakeSteps
}

export type CallerCheck = ReturnType<typeof createCallerCheck>

/** The message must arrive within this time, ms, because its beginning waits in memory. */
const messageMs = 60_000

/**
 * Verifies the caller before it reads the message (grpc-js reads nothing before it passes on the metadata). Otherwise strangers could fill
 * the memory.
 */
export function createCallerCheck(deps: CallerCheckDeps) {
  const { gateway } = deps
  const callers = new WeakMap<Metadata, AdmittedCaller>()
  const admitCaller = createCallerAdmission(deps)
  const admit = async (metadata: Metadata, path: string, from: string) => {
    callers.set(metadata, await admitCaller(metadata, path, from))
  }

  const interceptor: ServerInterceptor = ({ path }, call) => {
    const waiting = new AbortController()
    refuseMalformed(call, refusal => {
      const [from, steps] = [readPeer(call.getPeer()), createIntakeSteps(gateway.platform)]
      recordCall(refusal, { from, binding: 'GRPC', steps, request: call }, gateway)
      return toGrpcError(refusal, gateway)
    })
    const refuse = (error: unknown) => call.sendStatus(toGrpcError(error, gateway))
    const giveUp = () => {
      if (!waiting.signal.aborted) refuse(new Rejection('rate_limited', 'Cannot take request: it did not come in time'))
    }
    return new ServerInterceptingCall(call, {
      start(next) {
        next({
          onReceiveMetadata(metadata, pass) {
            void gateway.platform.sleep(messageMs, waiting.signal).then(giveUp)
            admit(metadata, path, readPeer(call.getPeer())).then(
              () => pass(metadata),
              error => {
                waiting.abort()
                refuse(error)
              },
            )
          },
          onReceiveHalfClose(pass) {
            waiting.abort()
            pass()
          },
          onCancel: () => waiting.abort(),
        })
      },
    })
  }

  return {
    interceptor,
    /** The caller admitted with this metadata, and the checks so far. */
    callerOf(metadata: Metadata): AdmittedCaller {
      const caller = callers.get(metadata)
      if (!caller) throw new Error('a call came in without its caller')
      return caller
    },
  }
}

/** What is refused is kept for the operator's list. */
function createCallerAdmission({ gateway, verifyCaller, takeAddress }: CallerCheckDeps) {
  return async (metadata: Metadata, path: string, from: string): Promise<AdmittedCaller> => {
    const steps = createIntakeSteps(gateway.platform)
    // A gRPC call is a POST to its method's path. Only a DPoP proof uses it.
    const visit = { headers: readMetadata(metadata), method: 'POST', url: `http://grpc${path}` }
    try {
      claimCall(steps, visit)
      takeAddress(from)
      const since = steps.now()
      const caller = await verifyCaller(visit)
      noteCaller(steps, since, caller)
      steps.claim({ claimed_sender: caller.address })
      return { caller, steps }
    } catch (error) {
      recordCall(error, { from, binding: 'GRPC', steps, request: metadata }, gateway)
      throw error
    }
  }
}
