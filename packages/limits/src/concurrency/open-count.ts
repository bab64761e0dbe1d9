// Counts open resources for each key, and refuses more than a maximum.

/** Creates a counter for each key. Each call counts one resource and returns the function that closes it once. @throws the error of `refuse` */
export function createOpenCount(most: number, refuse: () => Error): (key: string) => () => void {
  const counts = new Map<string, number>()
  return key => {
    const count = counts.get(key) ?? 0
    if (count >= most) throw refuse()
    counts.set(key, count + 1)
    let isOpen = true
    return () => {
      if (!isOpen) return
      isOpen = false
      const left = (counts.get(key) ?? 1) - 1
      if (left > 0) counts.set(key, left)
      else counts.delete(key)
    }
  }
}
