// Chooses the key that a host already knows while several of our keys are listed.

import { createExpiringMap } from '@postern/limits'
import type { FetchAnswer } from '@postern/message'
import { findHost } from '../format/iri.ts'
import type { RequestKey } from '../keys/key-generations.ts'
import type { RequestToSign, SendSigned } from '../keys/send-signed.ts'

/** The status of a host that checked our signature and did not accept it (Mastodon, GoToSocial, Akkoma). */
export const signatureRefusedStatus = 401

const maxHosts = 5_000
/** The time after which a host that cached our actor fetches it again, ms. */
const acceptedKeyTtlMs = 86_400_000
/** The time, in ms, for which a host that rejects every key gets the newest one alone, because strangers can cause our requests to it. */
const refusingHostTtlMs = 300_000

type SendWithKnownKey = (request: RequestToSign, keys: readonly RequestKey[]) => Promise<FetchAnswer>

/**
 * Creates the function that sends a request signed by the newest of our keys, and after a 401 by the earlier ones. Servers cache an actor, and
 * reject a key that is newer than their copy (GoToSocial). The key that a host has accepted is tried first the next time. `keys` are newest
 * first.
 * @throws Unavailable, Undeliverable
 */
export function createKnownKeySend(send: SendSigned, now: () => number): SendWithKnownKey {
  const acceptedKeyIds = createExpiringMap<string>(maxHosts, now)
  const refusingHosts = createExpiringMap<true>(maxHosts, now)

  /** Returns the keys in the order in which they are tried. */
  function orderKeys(host: string, keys: readonly RequestKey[]): readonly RequestKey[] {
    const acceptedKeyId = acceptedKeyIds.get(host)
    const orderedKeys = keys.toSorted(
      (left, right) => Number(right.id === acceptedKeyId) - Number(left.id === acceptedKeyId),
    )
    return refusingHosts.get(host) ? orderedKeys.slice(0, 1) : orderedKeys
  }

  return async function sendWithKnownKey(request, keys) {
    const [singleKey] = keys
    if (singleKey && keys.length === 1) return send(request, singleKey)
    const host = findHost(request.url) ?? ''
    const deadlineAt = now() + request.timeoutMs
    let firstRefusal: FetchAnswer | undefined
    for (const key of orderKeys(host, keys)) {
      const response = await send({ ...request, timeoutMs: Math.max(1, deadlineAt - now()) }, key)
      if (response.status !== signatureRefusedStatus) {
        acceptedKeyIds.set(host, key.id, acceptedKeyTtlMs)
        return response
      }
      firstRefusal ??= response
      if (now() >= deadlineAt) break
    }
    refusingHosts.set(host, true, refusingHostTtlMs)
    return firstRefusal as FetchAnswer
  }
}
