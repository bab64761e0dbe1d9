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

/** The faults of access tokens alone: an `nbf` in the future, an issuer that nobody trusts, a token without signature. */
export type TokenOnlyFault = 'not_yet' | 'wrong_issuer' | 'alg_none'
