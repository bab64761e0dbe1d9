// Lists the faults of a JSON request with a bearer token, one row for each fault of the simulation.
import type { Fault, TokenOnlyFault } from '../fault.ts'
import type { TokenFault } from './token.ts'

/** The effect of one fault on a JSON request with a bearer token. */
interface JsonFault {
  readonly token?: TokenFault | undefined
  readonly omitsToken?: boolean | undefined
  /** The text of a second request with the same id. The second answer counts. */
  readonly repeatText?: string | undefined
  readonly unknownRecipient?: boolean | undefined
  encode?(body: string, oversizedBytes: number): string
}

export const jsonFaults: Readonly<Record<Fault | TokenOnlyFault, JsonFault>> = {
  unsigned: { omitsToken: true },
  tampered: { token: 'tampered' },
  forged: { token: 'forged' },
  expired: { token: 'expired' },
  replayed: { repeatText: 'something else' },
  wrong_owner: { token: 'wrong_owner' },
  oversized: { encode: (body, bytes) => `${body.slice(0, -1)},"padding":"${'x'.repeat(bytes)}"}` },
  deep: { encode: body => `${body.slice(0, -1)},"nested":${'['.repeat(2_000)}${']'.repeat(2_000)}}` },
  malformed: { encode: body => body.slice(0, -1) },
  key_host_down: { token: 'key_host_down' },
  unknown_recipient: { unknownRecipient: true },
  not_yet: { token: 'not_yet' },
  wrong_issuer: { token: 'wrong_issuer' },
  alg_none: { token: 'alg_none' },
}

/** Encodes a request with this fault. `oversizedBytes` is the padding of the fault `oversized`, 16 MiB by default. */
export function encodeRequest(request: object, fault: JsonFault, oversizedBytes = 2 ** 24): string {
  const body = JSON.stringify(request)
  return fault.encode?.(body, oversizedBytes) ?? body
}

/** Returns the address of the request. For the fault `unknown_recipient`, it names an agent that does not exist. */
export function addressFault(url: string, fault: JsonFault): string {
  if (!fault.unknownRecipient) return url
  const { origin, pathname } = new URL(url)
  const path = /\/agents\/[^/]+/.test(pathname) ? pathname : '/agents/any/a2a'
  return origin + path.replace(/\/agents\/[^/]+/, '/agents/no-such-agent')
}
