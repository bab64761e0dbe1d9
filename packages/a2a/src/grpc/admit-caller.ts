import type { Metadata, ServerInterceptor } from '@grpc/grpc-js'
import { ServerInterceptingCall } from '@grpc/grpc-js'
import { Rejection, recordRefusal } from '@postern/core'
import type { Caller } from '../auth/caller.ts'
import type { EndpointDeps } from '../endpoint/incoming.ts'
import { refuseMalformed } from './malformed-call.ts'
import { readMetadata, readPeer } from './metadata.ts'
import { toGrpcError } from './status.ts'

/** Counts a call of a network address. @throws Rejection `rate_limited` */
export type TakeAddress = (address: string) => void

export interface CallerCheck {
  readonly interceptor: ServerInterceptor
  /** The caller admitted with this metadata. */
  callerOf(metadata: Metadata): Caller
}

/** The message must arrive within this time, ms, because its beginning waits in memory. */
const messageMs = 60_000

/**
 * Verifies the caller before it reads the message (grpc-js reads nothing before it passes on the metadata). Otherwise strangers could fill
 * the memory.
 */
export function createCallerCheck(deps: EndpointDeps & { readonly takeAddress: TakeAddress }): CallerCheck {
  const { gateway, verifyCaller, takeAddress } = deps
  const callers = new WeakMap<Metadata, Caller>()

  async function admit(metadata: Metadata, path: string, from: string): Promise<void> {
    try {
      takeAddress(from)
      // A gRPC call is a POST to its method's path. Only a DPoP proof uses it.
      const visit = { headers: readMetadata(metadata), method: 'POST', url: `http://grpc${path}` }
      callers.set(metadata, await verifyCaller(visit))
    } catch (error) {
      recordRefusal(error, 'a2a', { ...gateway, from })
      throw error
    }
  }

  return {
    interceptor: ({ path }, call) => {
      const waiting = new AbortController()
      refuseMalformed(call, refusal => {
        recordRefusal(refusal, 'a2a', { ...gateway, from: readPeer(call.getPeer()) })
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
