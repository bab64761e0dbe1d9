// Counts the bytes that each holder has of one limit.

/** A limit on bytes that several holds share. Each hold is identified by its `key`. */
export interface ByteShare {
  /** Checks whether a hold may have `bytes` more. @throws the refusal of the share if they do not fit */
  check(key: object, bytes: number): void
  add(key: object, bytes: number): void
  /** Releases all bytes of the hold; does nothing for an unknown one. */
  remove(key: object): void
  /** Returns true if a new hold of this size would be refused. */
  isFullFor(bytes: number): boolean
}

/**
 * Opens a share of `max` bytes. Its oldest hold may have any size. Otherwise a large hold would never fit, and several growing holds could wait for
 * each other forever.
 */
export function createByteShare(maxBytes: number, refuse: () => Error): ByteShare {
  const holds = new Map<object, number>()
  let heldBytes = 0
  return {
    check(key, bytes) {
      const [oldest = key] = holds.keys()
      if (oldest !== key && heldBytes + bytes > maxBytes) throw refuse()
    },
    add(key, bytes) {
      holds.set(key, (holds.get(key) ?? 0) + bytes)
      heldBytes += bytes
    },
    remove(key) {
      heldBytes -= holds.get(key) ?? 0
      holds.delete(key)
    },
    isFullFor: bytes => holds.size > 0 && heldBytes + bytes > maxBytes,
  }
}

/** Returns a function that opens a share for each owner. A share exists as long as it has holds. */
export function createOwnerShares(maxBytes: number, refuse: () => Error): (owner: string) => ByteShare {
  const sharesByOwner = new Map<string, { readonly share: ByteShare; readonly holds: Set<object> }>()
  const find = (owner: string) =>
    sharesByOwner.get(owner) ?? { share: createByteShare(maxBytes, refuse), holds: new Set() }
  return owner => ({
    check: (key, bytes) => find(owner).share.check(key, bytes),
    add(key, bytes) {
      const { share, holds } = find(owner)
      sharesByOwner.set(owner, { share, holds: holds.add(key) })
      share.add(key, bytes)
    },
    remove(key) {
      const { share, holds } = find(owner)
      share.remove(key)
      if (holds.delete(key) && holds.size === 0) sharesByOwner.delete(owner)
    },
    isFullFor: bytes => find(owner).share.isFullFor(bytes),
  })
}
