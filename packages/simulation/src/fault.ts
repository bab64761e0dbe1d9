// Names the deliberate faults of simulated peers.

/** The deliberate faults of a peer. Every peer of the simulation can commit each of them. */
export const faults = [
  'unsigned',
  'tampered',
  'forged',
  'expired',
  'replayed',
  'wrong_owner',
  'oversized',
  'deep',
  'malformed',
  'key_host_down',
  'unknown_recipient',
] as const

export type Fault = (typeof faults)[number]

/** The faults that only access tokens can have, such as a future `nbf`, an untrusted issuer or a missing signature. */
export type TokenOnlyFault = 'not_yet' | 'wrong_issuer' | 'alg_none'
