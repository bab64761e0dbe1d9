// Declares the storage of keys that count once, such as proofs and challenges.

/** The store of keys that count once, such as those of proofs and challenges. */
export interface SingleUseStore {
  /**
   * Uses up a key until `until` (ms). Returns true the first time, and false for every other call until then, in this process or another. Resolves
   * once the use is durable. A key names its kind (`dpop …`). The caller has to limit the number of keys that one peer may use up.
   */
  consumeOnce(key: string, until: number): Promise<boolean>
}
