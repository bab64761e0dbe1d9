// Sends signed requests, and repeats a rejected one with the other signature scheme.
import { createExpiringMap } from '@postern/limits'
import type { FetchAnswer, FetchRequest, System } from '@postern/message'
import { findHost } from '../format/iri.ts'
import type { SigningKey } from './key-generations.ts'
import type { RequestToSign, SendSigned } from './send-signed.ts'
import { signCavageRequest } from './sign-cavage.ts'
import { signRfc9421Request } from './sign-rfc9421.ts'

const schemeRefusals: ReadonlySet<number> = new Set([400, 401, 403])
const maxHosts = 2_000
const rfc9421HostTtlMs = 3_600_000

interface SendAttempt {
  readonly key: SigningKey
  readonly signRequest: typeof signCavageRequest
  readonly deadlineAt: number
}

/** Creates the function that sends signed requests. It remembers the hosts that accept only RFC 9421. */
export function createSignatureFallback({ fetch, now }: Pick<System, 'fetch' | 'now'>): SendSigned {
  /** The hosts that rejected draft-cavage-12 and accepted RFC 9421, which shows that they verify signatures. */
  const rfc9421Hosts = createExpiringMap<true>(maxHosts, now)

  async function signAndSend(
    request: RequestToSign,
    { key, signRequest, deadlineAt }: SendAttempt,
  ): Promise<FetchAnswer> {
    const { method, url, body, headers, maxBytes } = request
    const signatureHeaders = await signRequest({ method, url, body, now: now() }, key)
    const fetchRequest: FetchRequest = {
      method,
      headers: { ...headers, ...signatureHeaders },
      timeoutMs: Math.max(1, deadlineAt - now()),
      // The receiver recognizes a repeated activity by its id.
      isRepeatable: true,
      ...(body && { body: body.bytes }),
      ...(maxBytes !== undefined && { maxBytes }),
    }
    return fetch(url, fetchRequest)
  }

  return async function sendSigned(request, key) {
    const deadlineAt = now() + request.timeoutMs
    const host = findHost(request.url) ?? ''
    const prefersRfc9421 = rfc9421Hosts.get(host) === true
    const [firstScheme, secondScheme] = prefersRfc9421
      ? [signRfc9421Request, signCavageRequest]
      : [signCavageRequest, signRfc9421Request]
    const firstResponse = await signAndSend(request, { key, signRequest: firstScheme, deadlineAt })
    if (!schemeRefusals.has(firstResponse.status) || now() >= deadlineAt) return firstResponse
    rfc9421Hosts.delete(host)
    const secondResponse = await signAndSend(request, { key, signRequest: secondScheme, deadlineAt })
    if (!prefersRfc9421 && secondResponse.status >= 200 && secondResponse.status < 300)
      rfc9421Hosts.set(host, true, rfc9421HostTtlMs)
    return chooseResponse(firstResponse, secondResponse)
  }
}

/**
 * Chooses between the responses to both schemes. A 400 only means that the server does not know the scheme, but a 401 or 403 may mean that it
 * cannot fetch our key now.
 */
function chooseResponse(firstResponse: FetchAnswer, secondResponse: FetchAnswer): FetchAnswer {
  return schemeRefusals.has(secondResponse.status) && firstResponse.status !== 400 ? firstResponse : secondResponse
}
