import type { FetchAnswer, FetchRequest, Platform } from '@postern/core'
import { createExpiringMap } from '../cache/expiring-map.ts'
import { findHost } from '../format/iri.ts'
import { signMessage } from '../signature/rfc9421/sign-message.ts'
import type { OutgoingRequest, SigningKey } from '../signature/sign.ts'
import { signRequest } from '../signature/sign.ts'

interface RequestToSign extends Pick<OutgoingRequest, 'method' | 'url' | 'body'> {
  readonly headers?: Readonly<Record<string, string>>
  /** For both tries together, from now. */
  readonly timeoutMs: number
  readonly maxBytes?: number
}

/**
 * Sends a signed request, and once more with the other scheme and the same bytes when the first was refused.
 * draft-cavage-12 goes first: some servers answer 202 to RFC 9421 and drop the message later, because they cannot read it.
 * @throws Unavailable, Undeliverable
 */
export type SendSigned = (call: RequestToSign, key: SigningKey) => Promise<FetchAnswer>

const refusalStatuses: ReadonlySet<number> = new Set([400, 401, 403])
const maxHosts = 2_000
const provenMs = 3_600_000

export function createDoubleKnock({ fetch, now }: Pick<Platform, 'fetch' | 'now'>): SendSigned {
  /** Hosts that refused the old scheme and took the new one: proof that they look at signatures at all. */
  const proven = createExpiringMap<true>(maxHosts, now)

  async function send(
    call: RequestToSign,
    key: SigningKey,
    sign: typeof signRequest,
    deadline: number,
  ): Promise<FetchAnswer> {
    const { method, url, body, headers, maxBytes } = call
    const signed = await sign({ method, url, body, now: now() }, key)
    const request: FetchRequest = {
      method,
      headers: { ...headers, ...signed },
      timeoutMs: Math.max(1, deadline - now()),
      ...(body && { body: body.bytes }),
      ...(maxBytes !== undefined && { maxBytes }),
    }
    return fetch(url, request)
  }

  return async function sendSigned(call, key) {
    const deadline = now() + call.timeoutMs
    const host = findHost(call.url) ?? ''
    const isProven = proven.get(host) === true
    const first = await send(call, key, isProven ? signMessage : signRequest, deadline)
    if (!refusalStatuses.has(first.status) || now() >= deadline) return first
    proven.delete(host)
    const second = await send(call, key, isProven ? signRequest : signMessage, deadline)
    if (!isProven && second.status >= 200 && second.status < 300) proven.set(host, true, provenMs)
    return preferAnswer(first, second)
  }
}

/**
 * A 400 only means that the server does not know the scheme. A 401 or 403 may also mean that it cannot get our key just
 * now.
 */
function preferAnswer(first: FetchAnswer, second: FetchAnswer): FetchAnswer {
  return refusalStatuses.has(second.status) && first.status !== 400 ? first : second
}
