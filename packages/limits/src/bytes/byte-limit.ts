// Counts the bytes that each reservation uses of one limit.

/** A limit on bytes that several reservations share. Each reservation is identified by its `key`. */
export interface ByteLimit {
  /**
   * Checks whether a reservation may grow by `bytes`.
   * @throws the error of `refuse` if the bytes do not fit
   */
  check(key: object, bytes: number): void
  add(key: object, bytes: number): void
  /** Releases all bytes of the reservation. Does nothing for an unknown key. */
  remove(key: object): void
  /** Returns true if a new reservation of this size would be refused. */
  isFullFor(bytes: number): boolean
}

/**
 * Creates a limit of `maxBytes`. The oldest reservation may have any size. Otherwise a large reservation would never fit, and several growing ones
 * could wait for each other forever.
 */
export function createByteLimit(maxBytes: number, refuse: () => Error): ByteLimit {
  const bytesByKey = new Map<object, number>()
  let usedBytes = 0
  return {
    check(key, bytes) {
      const [oldestKey = key] = bytesByKey.keys()
      if (oldestKey !== key && usedBytes + bytes > maxBytes) throw refuse()
    },
    add(key, bytes) {
      bytesByKey.set(key, (bytesByKey.get(key) ?? 0) + bytes)
      usedBytes += bytes
    },
    remove(key) {
      usedBytes -= bytesByKey.get(key) ?? 0
      bytesByKey.delete(key)
    },
    isFullFor: bytes => bytesByKey.size > 0 && usedBytes + bytes > maxBytes,
  }
}

/** Returns a function that opens a limit for each owner. A limit exists as long as it has reservations. */
export function createOwnerLimits(maxBytes: number, refuse: () => Error): (owner: string) => ByteLimit {
  const limitsByOwner = new Map<string, { readonly limit: ByteLimit; readonly keys: Set<object> }>()
  const find = (owner: string) =>
    limitsByOwner.get(owner) ?? { limit: createByteLimit(maxBytes, refuse), keys: new Set() }
  return owner => ({
    check: (key, bytes) => find(owner).limit.check(key, bytes),
    add(key, bytes) {
      const { limit, keys } = find(owner)
      limitsByOwner.set(owner, { limit, keys: keys.add(key) })
      limit.add(key, bytes)
    },
    remove(key) {
      const { limit, keys } = find(owner)
      limit.remove(key)
      if (keys.delete(key) && keys.size === 0) limitsByOwner.delete(owner)
    },
    isFullFor: bytes => find(owner).limit.isFullFor(bytes),
  })
}

/**
 * Adds bytes of a reservation to several limits, or to none of them if they do not fit into one.
 * @throws the error of that limit
 */
export function addToLimits(limits: readonly ByteLimit[], key: object, bytes: number): void {
  for (const limit of limits) limit.check(key, bytes)
  for (const limit of limits) limit.add(key, bytes)
}

export function removeFromLimits(limits: readonly ByteLimit[], key: object): void {
  for (const limit of limits) limit.remove(key)
}
