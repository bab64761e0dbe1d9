// Shares one running operation between all callers that ask for the same key.

/** Creates a function that runs `work` for a key, or joins the run of this key that is in progress. */
export function createSingleFlight<Result>() {
  const running = new Map<string, Promise<Result>>()
  return (key: string, work: () => Promise<Result>): Promise<Result> => {
    const existingFlight = running.get(key)
    if (existingFlight) return existingFlight
    const flight = work().finally(() => running.delete(key))
    running.set(key, flight)
    return flight
  }
}
