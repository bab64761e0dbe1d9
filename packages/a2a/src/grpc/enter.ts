// Checks the caller and the request of a gRPC call before its operation runs.
import type { Metadata, ServerInterceptor } from '@grpc/grpc-js'
import { ServerInterceptingCall } from '@grpc/grpc-js'
import { networkOf } from '@postern/http'
import { recordCallerProof } from '@postern/http/tokens'
import { isJsonObject, Rejection } from '@postern/message'
import type { ChannelContext, IntakeSteps } from '@postern/pipeline'
import { createIntakeSteps, hasRefusal } from '@postern/pipeline'
import type { Caller } from '../auth/caller.ts'
import type { AdmittedCall, EndpointDeps } from '../endpoint/call.ts'
import { findAddressee, listenerKeyOf } from '../endpoint/call.ts'
import { parseCallBody } from '../endpoint/call-body.ts'
import { listOfferedExtensions, negotiateExtensions, replayExtension } from '../endpoint/extensions.ts'
import { negotiateVersion } from '../endpoint/negotiate-version.ts'
import { recordCallClaims, recordRefusedCall } from '../endpoint/record-call.ts'
import type { GrpcBody } from './body.ts'
import { openBody } from './body.ts'
import type { GrpcMethod } from './methods.ts'
import { isOpenService } from './open-services.ts'
import { readMetadata, readPeer, refuseMalformed, toGrpcError } from './status.ts'

/** A call with its request still in bytes. */
interface GrpcRequest {
  readonly method: GrpcMethod
  readonly metadata: Metadata
  readonly request: Uint8Array
  readonly from: string
  /** The admitted caller. */
  readonly caller: Caller
  /** The record of the checks so far. */
  readonly steps: IntakeSteps
}

/** Runs the checks after that of the caller, the cheap ones first: version, message, agent. It records a refusal. @throws Rejection */
export function admitGrpcCall(grpcCall: GrpcRequest, deps: EndpointDeps): AdmittedCall {
  try {
    return checkGrpcCall(grpcCall, deps)
  } catch (error) {
    recordRefusedCall(error, { ...grpcCall, request: grpcCall.metadata, binding: 'GRPC' }, deps.gateway)
    throw error
  }
}

function checkGrpcCall(grpcCall: GrpcRequest, deps: EndpointDeps): AdmittedCall {
  const { method, metadata, request, from, caller, steps } = grpcCall
  const headers = readMetadata(metadata)
  const version = negotiateVersion({ header: headers.get('a2a-version'), query: undefined, offeredVersions })
  const bytes = Buffer.from(JSON.stringify(method.readParams(request)))
  // The limits are the same as in the other bindings.
  const document = parseCallBody(bytes)
  const { tenant, params } = extractTenant(document)
  steps.recordClaims({ agent: tenant })
  const agent = findAddressee(tenant, deps.gateway)
  const negotiatedExtensions = negotiateExtensions(
    headers.get('a2a-extensions'),
    listOfferedExtensions(deps.gateway, agent),
  )
  const extensions = negotiatedExtensions.filter(uri => uri !== replayExtension)
  const origin = { caller, from, steps, request: metadata }
  // Events in gRPC have no field for an id, so no stream can be continued.
  const replay = { lastEventId: undefined, canReplay: false }
  const call = { ...origin, agent, params, document, bytes, binding: 'GRPC' as const, version, ...replay }
  return { name: method.operation, extensions, call }
}

/** The offered versions. The protobuf file is that of A2A 1.0. */
const offeredVersions = ['1.0'] as const

/**
 * Reads the tenant of a request. One service serves all agents. Each agent is a tenant that its card names, and without a tenant the default
 * agent is called (A2A §8.3).
 */
function extractTenant(document: unknown): { readonly tenant: string | undefined; readonly params: unknown } {
  if (!isJsonObject(document)) return { tenant: undefined, params: document }
  const { tenant, ...params } = document
  return { tenant: typeof tenant === 'string' && tenant !== '' ? tenant : undefined, params }
}

/** Counts a call of a network address. @throws Rejection `rate_limited` */
export type LimitAddress = (address: string) => void

interface CallerCheckDeps extends EndpointDeps {
  readonly limitAddress: LimitAddress
}

interface AdmittedCaller {
  readonly caller: Caller
  readonly steps: IntakeSteps
}

export type CallerCheck = ReturnType<typeof createCallerCheck>

/**
 * Creates the check that verifies the caller before the message is read, because otherwise strangers could fill the memory. grpc-js reads nothing
 * before the metadata is passed on.
 */
export function createCallerCheck(deps: CallerCheckDeps) {
  const { gateway } = deps
  const callers = new WeakMap<Metadata, AdmittedCaller>()
  const admitCaller = createCallerAdmission(deps)

  const interceptor: ServerInterceptor = ({ path }, call) => {
    const from = readPeer(call.getPeer())
    if (isOpenService(path)) return checkOpenCall(call, from, deps)
    refuseMalformed(call, refusal => {
      const steps = createIntakeSteps(gateway.system)
      recordRefusedCall(refusal, { from, binding: 'GRPC', steps, request: call }, gateway)
      return toGrpcError(refusal, gateway)
    })
    const admit = async (metadata: Metadata): Promise<GrpcBody> => {
      const admission = await admitCaller(metadata, path, from)
      callers.set(metadata, admission)
      return openCallerBody({ ...admission, call, metadata, from }, gateway)
    }
    let body: GrpcBody | undefined
    return new ServerInterceptingCall(call, {
      start(next) {
        next({
          onReceiveMetadata(metadata, pass) {
            admit(metadata).then(
              openedBody => {
                body = openedBody
                openedBody.watchPace(gateway.system.sleep)
                pass(metadata)
              },
              error => call.sendStatus(toGrpcError(error, gateway)),
            )
          },
          onReceiveMessage(message: Buffer, pass) {
            if (body?.acceptMessage(message.length)) pass(message)
          },
          onReceiveHalfClose(pass) {
            body?.end()
            pass()
          },
        })
      },
    })
  }

  return {
    interceptor,
    /** Returns the caller that was admitted with this metadata, and the checks so far. */
    callerOf(metadata: Metadata): AdmittedCaller {
      const caller = callers.get(metadata)
      if (!caller) throw new Error('the call has no admitted caller')
      return caller
    },
  }
}

interface CallerBodyContext extends AdmittedCaller {
  readonly call: InterceptedCall
  readonly metadata: Metadata
  readonly from: string
}

/** Opens the body of an admitted call, whose bytes count for its caller. */
function openCallerBody({ call, caller, steps, metadata, from }: CallerBodyContext, gateway: ChannelContext): GrpcBody {
  return openBody(call, {
    byteReservation: gateway.bodies?.reserve(listenerKeyOf({ caller, from })),
    refuse(error) {
      if (!hasRefusal(metadata)) recordRefusedCall(error, { from, binding: 'GRPC', steps, request: metadata }, gateway)
      call.sendStatus(toGrpcError(error, gateway))
    },
  })
}

/** Checks a call of health or reflection, which requires no credentials. Each such call counts as a request of its address and has a time limit. */
function checkOpenCall(
  call: InterceptedCall,
  from: string,
  { gateway, limitAddress }: CallerCheckDeps,
): ServerInterceptingCall {
  const completion = new AbortController()
  const refuse = (error: unknown) => call.sendStatus(toGrpcError(error, gateway))
  const body = openBody(call, { byteReservation: gateway.bodies?.reserve(networkOf(from)), refuse })
  return new ServerInterceptingCall(call, {
    start(next) {
      next({
        onReceiveMetadata(metadata, pass) {
          try {
            limitAddress(from)
          } catch (error) {
            return refuse(error)
          }
          const timeoutRejection = new Rejection('rate_limited', 'Cannot continue call: it has lasted too long')
          void gateway.system.sleep(openCallMs, completion.signal).then(() => {
            if (!completion.signal.aborted) refuse(timeoutRejection)
          })
          return pass(metadata)
        },
        onReceiveMessage(message, pass) {
          if (body.acceptMessage(JSON.stringify(message).length)) pass(message)
        },
        onCancel: () => completion.abort(),
      })
    },
    sendStatus(status, next) {
      completion.abort()
      next(status)
    },
  })
}

type InterceptedCall = Parameters<ServerInterceptor>[1]

/** The longest time of a call without credentials, ms. A client that watches the health calls again. */
const openCallMs = 10 * 60_000

/** Creates the function that admits callers by their credentials. It records refusals for the operator. */
function createCallerAdmission({ gateway, verifyCaller, limitAddress }: CallerCheckDeps) {
  return async (metadata: Metadata, path: string, from: string): Promise<AdmittedCaller> => {
    const steps = createIntakeSteps(gateway.system)
    // A gRPC call is a POST to its method's path. Only a DPoP proof uses it.
    const requestHead = { headers: readMetadata(metadata), method: 'POST', url: `http://grpc${path}` }
    try {
      recordCallClaims(steps, requestHead)
      limitAddress(from)
      const startedAt = steps.now()
      const caller = await verifyCaller(requestHead)
      recordCallerProof(steps, startedAt, caller)
      steps.recordClaims({ claimed_sender: caller.address })
      return { caller, steps }
    } catch (error) {
      recordRefusedCall(error, { from, binding: 'GRPC', steps, request: metadata }, gateway)
      throw error
    }
  }
}
