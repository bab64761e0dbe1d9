// Counts open resources for each key, and refuses more than a maximum.

/**
 * Creates a counter for each key. Each call counts one resource and returns the function that closes it once.
 * @throws (the call) the error of `refuse`
 */
export function createOpenCount(maxOpen: number, refuse: () => Error): (key: string) => () => void {
  const counts = new Map<string, number>()
  return key => {
    const count = counts.get(key) ?? 0
    if (count >= maxOpen) throw refuse()
    counts.set(key, count + 1)
    let isOpen = true
    return () => {
      if (!isOpen) return
      isOpen = false
      const remaining = (counts.get(key) ?? 1) - 1
      if (remaining > 0) counts.set(key, remaining)
      else counts.delete(key)
    }
  }
}
