const dateWindowMs = 12 * 3_600_000

/** The twelve hours that Mastodon gives a signature. @throws Error */
export function checkAge(at: number, now: number): void {
  const age = Math.abs(now - at)
  if (!(age <= dateWindowMs)) throw new Error(`the date is ${age} ms away`)
}
