// Measures the growth of processor time with the size of the input.
/** The largest number of tries. Another try runs only while the growth does not look linear. */
const maxTries = 5
/** The growth up to which the work is certainly linear, so that no other try is needed. */
const plain = 12
/** The number of runs, or the time, after which the small input has run enough. Short times are less exact, so it runs several times. */
const [enoughRuns, enoughMicroseconds] = [8, 20_000]
/** The shortest time that counts, because the clock is too coarse for shorter ones. */
const minMicroseconds = 2_000

/**
 * Measures the ratio of processor time that `run` needs for eight times the input: about 8 if the work is linear, and 64 if it is
 * quadratic. Only this thread and the best of several tries count, so that other work and garbage collection have no effect.
 */
export function measureGrowth(runOnce: (text: string) => unknown, segment: string, size: number): number {
  const repeatSegment = (length: number) => segment.repeat(length / segment.length)
  const [small, large] = [repeatSegment(size / 8), repeatSegment(size)]
  const minCosts = { small: Number.POSITIVE_INFINITY, large: Number.POSITIVE_INFINITY }
  const growth = () => minCosts.large / Math.max(minCosts.small, minMicroseconds)
  runOnce(repeatSegment(size / 32))
  for (let tries = 0; tries < maxTries && (tries === 0 || growth() > plain); tries += 1) {
    // The large input runs first. Code that is compiled in the meantime makes the small one faster, which can only make the growth look larger.
    minCosts.large = Math.min(
      minCosts.large,
      costOf(() => runOnce(large), 1),
    )
    minCosts.small = Math.min(
      minCosts.small,
      costOf(() => runOnce(small), enoughRuns),
    )
  }
  return growth()
}

/** Returns the microseconds of one run, as the mean of up to `maxRuns`. */
function costOf(runOnce: () => unknown, maxRuns: number): number {
  const cpuBefore = process.threadCpuUsage()
  for (let runs = 1; ; runs += 1) {
    runOnce()
    const { user, system } = process.threadCpuUsage(cpuBefore)
    if (runs >= maxRuns || user + system >= enoughMicroseconds) return (user + system) / runs
  }
}
