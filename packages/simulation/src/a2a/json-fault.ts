// Lists the faults of a JSON request with a bearer token, one row for each fault of the simulation.
import type { Fault, TokenOnlyFault } from '../fault.ts'
import type { TokenFault } from './token.ts'

/** The effect of one fault on a JSON request with a bearer token. */
interface JsonFault {
  readonly tokenFault?: TokenFault | undefined
  readonly omitsToken?: boolean | undefined
  /** The text of a second request with the same id. The second answer counts. */
  readonly repeatText?: string | undefined
  readonly hasUnknownRecipient?: boolean | undefined
  /** Changes the body after its serialization. */
  encode?(body: string, oversizedBytes: number): string
}

export const jsonFaults: Readonly<Record<Fault | TokenOnlyFault, JsonFault>> = {
  unsigned: { omitsToken: true },
  tampered: { tokenFault: 'tampered' },
  forged: { tokenFault: 'forged' },
  expired: { tokenFault: 'expired' },
  replayed: { repeatText: 'something else' },
  wrong_owner: { tokenFault: 'wrong_owner' },
  oversized: { encode: (body, paddingBytes) => `${body.slice(0, -1)},"padding":"${'x'.repeat(paddingBytes)}"}` },
  deep: { encode: body => `${body.slice(0, -1)},"nested":${'['.repeat(2_000)}${']'.repeat(2_000)}}` },
  malformed: { encode: body => body.slice(0, -1) },
  key_host_down: { tokenFault: 'key_host_down' },
  unknown_recipient: { hasUnknownRecipient: true },
  not_yet: { tokenFault: 'not_yet' },
  wrong_issuer: { tokenFault: 'wrong_issuer' },
  alg_none: { tokenFault: 'alg_none' },
}

/** Encodes a request with this fault. `oversizedBytes` is the padding of the fault `oversized`, 16 MiB by default. */
export function encodeRequest(request: object, fault: JsonFault, oversizedBytes = 2 ** 24): string {
  const body = JSON.stringify(request)
  return fault.encode?.(body, oversizedBytes) ?? body
}

/** Returns the address of the request. For the fault `unknown_recipient`, it names an agent that does not exist. */
export function applyToUrl(url: string, fault: JsonFault): string {
  if (!fault.hasUnknownRecipient) return url
  const { origin, pathname } = new URL(url)
  const path = /\/agents\/[^/]+/.test(pathname) ? pathname : '/agents/any/a2a'
  return origin + path.replace(/\/agents\/[^/]+/, '/agents/no-such-agent')
}
