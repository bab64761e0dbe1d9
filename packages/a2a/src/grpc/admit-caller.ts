import type { Metadata, ServerInterceptor } from '@grpc/grpc-js'
import { ServerInterceptingCall } from '@grpc/grpc-js'
import type { IntakeSteps } from '@postern/core'
import { createIntakeSteps, Rejection } from '@postern/core'
import { noteCaller } from '@postern/http/tokens'
import type { EndpointDeps } from '../endpoint/call.ts'
import { claimCall, recordCall } from '../endpoint/call.ts'
import type { Caller } from '../verify.ts'
import { refuseMalformed } from './malformed-call.ts'
import { readMetadata, readPeer } from './metadata.ts'
import { toGrpcError } from './status.ts'

/** Counts a call of a network address. @throws Rejection `rate_limited` */
export type TakeAddress = (address: string) => void

interface CallerCheckDeps extends EndpointDeps {
  readonly takeAddress: TakeAddress
}

interface AdmittedCaller {
  readonly caller: Caller
  readonly steps: IntakeSteps
}

export interface CallerCheck {
  readonly interceptor: ServerInterceptor
  /** The caller admitted with this metadata, and the checks so far. */
  callerOf(metadata: Metadata): AdmittedCaller
}

/** The message must arrive within this time, ms, because its beginning waits in memory. */
const messageMs = 60_000

/**
 * Verifies the caller before it reads the message (grpc-js reads nothing before it passes on the metadata). Otherwise strangers could fill
 * the memory.
 */
export function createCallerCheck(deps: CallerCheckDeps): CallerCheck {
  const { gateway } = deps
  const callers = new WeakMap<Metadata, AdmittedCaller>()
  const admitCaller = createCallerAdmission(deps)
  const admit = async (metadata: Metadata, path: string, from: string) => {
    callers.set(metadata, await admitCaller(metadata, path, from))
  }

  return {
    interceptor: ({ path }, call) => {
      const waiting = new AbortController()
      refuseMalformed(call, refusal => {
        const [from, steps] = [readPeer(call.getPeer()), createIntakeSteps(gateway.platform)]
        recordCall(refusal, { from, binding: 'GRPC', steps, request: call }, gateway)
        return toGrpcError(refusal, gateway)
      })
      const refuse = (error: unknown) => call.sendStatus(toGrpcError(error, gateway))
      const giveUp = () => {
        if (!waiting.signal.aborted)
          refuse(new Rejection('rate_limited', 'Cannot take request: it did not come in time'))
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
    },
    callerOf(metadata) {
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
