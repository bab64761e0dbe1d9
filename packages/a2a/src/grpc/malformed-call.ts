import type { ServerInterceptingCall } from '@grpc/grpc-js'
import { status } from '@grpc/grpc-js'
import { A2aRejection } from '../format/errors.ts'

type PartialStatusObject = Parameters<ServerInterceptingCall['sendStatus']>[0]
type InnerCall = Pick<ServerInterceptingCall, 'sendStatus'>

/** Texts of grpc-js for calls with wrong bytes or headers. It reports them as INTERNAL or as an unknown method. */
const told: readonly (readonly [details: RegExp, problem: string])[] = [
  [/^Invalid grpc-timeout /, 'its time-out is not valid'],
  [/^Failed to decompress /, 'its message is not compressed as it says'],
  [/^Received no request message /, 'it has no message'],
  [/^Received a second request message /, 'it has more than one message'],
]

/** The refusal of a malformed call; undefined for every other status. */
function findRefusal({ code, details }: PartialStatusObject): A2aRejection | undefined {
  if (code !== status.INTERNAL && code !== status.UNIMPLEMENTED) return undefined
  const [, problem] = told.find(([pattern]) => pattern.test(details ?? '')) ?? []
  return problem === undefined ? undefined : new A2aRejection('invalidRequest', `Cannot read request: ${problem}`)
}

/**
 * Ends a malformed call with the status of `refuse`. grpc-js ends such a call after all interceptors, so this must be set on the call
 * itself.
 */
export function refuseMalformed(call: InnerCall, refuse: (refusal: A2aRejection) => PartialStatusObject): void {
  const sendStatus = call.sendStatus.bind(call)
  call.sendStatus = given => {
    const refusal = findRefusal(given)
    sendStatus(refusal ? refuse(refusal) : given)
  }
}
