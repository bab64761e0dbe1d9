// Declares the budget of bytes in memory.

/** A limit on the bytes in memory, of all peers together and of each owner: a caller, or a network address. */
export interface ByteBudget {
  /** Returns an empty hold. */
  reserve(owner: string): ByteReservation
}

export interface ByteReservation {
  /**
   * Counts `bytes` more.
   * @throws Rejection `rate_limited` if the owner holds too much, Unavailable if all owners together do
   */
  add(bytes: number): void
  /** Releases all bytes. It may be called twice. */
  release(): void
}

/** A limit on the bytes of bodies that a channel may have in memory. */
export interface BodyBudget {
  /** Returns an empty hold. */
  reserve(owner: string): BodyReservation
}

export interface BodyReservation extends ByteReservation {
  /** Counts `bytes` more as soon as they fit. Rejects with the refusal of `add` if `signal` aborts before. */
  acquire(bytes: number, signal: AbortSignal): Promise<void>
}
