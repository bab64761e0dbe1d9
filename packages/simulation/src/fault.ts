/** Defines the deliberate faults of a peer. Every peer of the simulation can send each of them. */
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

/** The faults of access tokens only: a future `nbf`, an untrusted issuer, a token without a signature. */
export type TokenOnlyFault = 'not_yet' | 'wrong_issuer' | 'alg_none'
