/** Bytes that may be in memory at a time, of all peers together and of each owner: a caller, or a network address. */
export interface ByteBudget {
  /** An empty hold. */
  hold(owner: string): ByteHold
}

export interface ByteHold {
  /**
   * Counts `bytes` more.
   * @throws Rejection `rate_limited` when the owner holds too much, Unavailable when all together do
   */
  add(bytes: number): void
  /** Gives everything back; may be called twice. */
  release(): void
}
