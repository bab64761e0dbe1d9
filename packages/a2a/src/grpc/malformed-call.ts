import type { ServerInterceptingCall } from '@grpc/grpc-js'
import { status } from '@grpc/grpc-js'
import { A2aRejection } from '../format/errors.ts'

type PartialStatusObject = Parameters<ServerInterceptingCall['sendStatus']>[0]
type InnerCall = Pick<ServerInterceptingCall, 'sendStatus'>

/** What grpc-js itself says of a call whose bytes or headers are wrong: as INTERNAL, or as of a method that there is not. */
const told: readonly (readonly [details: RegExp, problem: string])[] = [
  [/^Invalid grpc-timeout /, 'its time-out is not valid'],
  [/^Failed to decompress /, 'its message is not compressed as it says'],
  [/^Received no request message /, 'it has no message'],
  [/^Received a second request message /, 'it has more than one message'],
]

/** Of a call that is malformed, the refusal; undefined for every other status. */
function findRefusal({ code, details }: PartialStatusObject): A2aRejection | undefined {
  if (code !== status.INTERNAL && code !== status.UNIMPLEMENTED) return undefined
  const [, problem] = told.find(([pattern]) => pattern.test(details ?? '')) ?? []
  return problem === undefined ? undefined : new A2aRejection('invalidRequest', `Cannot read request: ${problem}`)
}

/**
 * Lets a malformed call end as `refuse` says. grpc-js ends it by the innermost call, behind all interceptors: so it is told there.
 */
export function refuseMalformed(call: InnerCall, refuse: (refusal: A2aRejection) => PartialStatusObject): void {
  const sendStatus = call.sendStatus.bind(call)
  call.sendStatus = given => {
    const refusal = findRefusal(given)
    sendStatus(refusal ? refuse(refusal) : given)
  }
}
