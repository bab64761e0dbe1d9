// Chooses the key of ours that a host knows, while several are listed.

import { createExpiringMap } from '@postern/limits'
import type { FetchAnswer } from '@postern/message'
import { findHost } from '../format/iri.ts'
import type { RequestKey } from '../keys/key-generations.ts'
import type { RequestToSign, SendSigned } from '../keys/message-signing.ts'

/** The status of a host that checked our signature and did not accept it (Mastodon, GoToSocial, Akkoma). */
export const ownFaultStatus = 401

const maxHosts = 5_000
/** The time after which a host that cached our actor fetches it again, ms. */
const knownMs = 86_400_000
/** The time, in ms, for which a host that rejects every key gets the newest one alone, because strangers can cause our requests to it. */
const refusedMs = 300_000

type SendWithKnownKey = (call: RequestToSign, keys: readonly RequestKey[]) => Promise<FetchAnswer>

/**
 * Creates the function that sends a request signed by the newest of our keys, and after a 401 by the earlier ones. Servers cache an actor, and
 * reject a key that is newer than their copy (GoToSocial). The key that a host has accepted is tried first the next time. `keys` are newest
 * first.
 * @throws Unavailable, Undeliverable
 */
export function createKnownKeySend(send: SendSigned, now: () => number): SendWithKnownKey {
  const taken = createExpiringMap<string>(maxHosts, now)
  const refusing = createExpiringMap<true>(maxHosts, now)

  /** Returns the keys in the order in which they are tried. */
  function order(host: string, keys: readonly RequestKey[]): readonly RequestKey[] {
    const lastKeyId = taken.get(host)
    const ordered = keys.toSorted((one, other) => Number(other.id === lastKeyId) - Number(one.id === lastKeyId))
    return refusing.get(host) ? ordered.slice(0, 1) : ordered
  }

  return async function sendWithKnownKey(call, keys) {
    const [only] = keys
    if (only && keys.length === 1) return send(call, only)
    const host = findHost(call.url) ?? ''
    const deadline = now() + call.timeoutMs
    let refused: FetchAnswer | undefined
    for (const key of order(host, keys)) {
      const answer = await send({ ...call, timeoutMs: Math.max(1, deadline - now()) }, key)
      if (answer.status !== ownFaultStatus) {
        taken.set(host, key.id, knownMs)
        return answer
      }
      refused ??= answer
      if (now() >= deadline) break
    }
    refusing.set(host, true, refusedMs)
    return refused as FetchAnswer
  }
}
