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
  /** Who was let in with this metadata. */
  callerOf(metadata: Metadata): Caller
}

/** A message has to be there within this time, ms: its beginning waits in memory. */
const messageMs = 60_000

/**
 * Asks who calls before a byte of his message is read (grpc-js reads none before the metadata is passed on): strangers would else
 * have as much memory of ours as they like to send.
 */
export function createCallerCheck(deps: EndpointDeps & { readonly takeAddress: TakeAddress }): CallerCheck {
  const { gateway, verifyCaller, takeAddress } = deps
  const callers = new WeakMap<Metadata, Caller>()

  async function admit(metadata: Metadata, path: string, from: string): Promise<void> {
    try {
      takeAddress(from)
      // A call of gRPC is a POST to the path of its method; nothing but a DPoP proof looks at it.
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
