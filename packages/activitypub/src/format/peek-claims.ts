import type { RefusalClaims } from '@postern/core'

/** How far it looks, octets: servers write id and actor first. */
const peeked = 2_048

const members: Readonly<Record<'peer_id' | 'claimed_sender', RegExp>> = {
  peer_id: /"id"\s{0,9}:\s{0,9}"(https:[^"\\\s]{1,300})"/,
  claimed_sender: /"actor"\s{0,9}:\s{0,9}"(https:[^"\\\s]{1,300})"/,
}

/** What a document claims that is not worth reading: the first `id` and `actor` of its first octets. Nothing of it is proven. */
export function peekClaims(bytes: Uint8Array): RefusalClaims {
  const text = new TextDecoder('latin1').decode(bytes.subarray(0, peeked))
  const found = Object.entries(members).flatMap(([name, pattern]) => {
    const value = pattern.exec(text)?.[1]
    return value === undefined ? [] : [[name, value] as const]
  })
  return Object.fromEntries(found)
}
