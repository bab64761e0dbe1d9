/** What may be used once: a proof, a challenge. */
export interface OnceStore {
  /**
   * Uses a key up until `until` (ms): true the first time, false for everybody else till then, in this process or another.
   * Durable when it resolves. A key names who made it (`dpop …`); how many one peer may use up is for the caller to bound.
   */
  consumeOnce(key: string, until: number): Promise<boolean>
}
