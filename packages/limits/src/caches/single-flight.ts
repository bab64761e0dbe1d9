// Shares one running operation between all callers with the same key.

/** Creates a function that runs `work` for a key, or joins the run of this key that is in progress. */
export function createSingleFlight<Result>() {
  const flights = new Map<string, Promise<Result>>()
  return (key: string, work: () => Promise<Result>): Promise<Result> => {
    const existingFlight = flights.get(key)
    if (existingFlight) return existingFlight
    const flight = work().finally(() => flights.delete(key))
    flights.set(key, flight)
    return flight
  }
}
