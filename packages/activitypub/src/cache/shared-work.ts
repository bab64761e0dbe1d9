/** Runs `work`, or joins it when it is under way for this key already. */
type ShareWork<Result> = (key: string, work: () => Promise<Result>) => Promise<Result>

/** Those who ask for one thing at the same time share one answer. */
export function createSharedWork<Result>(): ShareWork<Result> {
  const running = new Map<string, Promise<Result>>()
  return (key, work) => {
    const underWay = running.get(key)
    if (underWay) return underWay
    const begun = work().finally(() => running.delete(key))
    running.set(key, begun)
    return begun
  }
}
