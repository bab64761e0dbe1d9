/** More tries are worth their time only where the first one leaves a doubt. */
const mostTries = 5
/** A growth up to this one is that of linear work, beyond all doubt: no further try makes it quadratic. */
const plain = 12
/** Short times are known less well: the small input is run again until this much time is gone. */
const [enoughRuns, enoughMicroseconds] = [8, 20_000]
/** Less is lost in the noise of the clock. */
const leastMicroseconds = 2_000

/**
 * How many times more processor time `run` takes for eight times the input: about 8 when it is linear, 64 when it is
 * quadratic. Of this thread alone, and the best of several tries in turn, so that neither a neighbour's work nor the tidying
 * behind counts.
 */
export function measureGrowth(run: (text: string) => unknown, piece: string, size: number): number {
  const write = (length: number) => piece.repeat(length / piece.length)
  const [small, large] = [write(size / 8), write(size)]
  const least = { small: Number.POSITIVE_INFINITY, large: Number.POSITIVE_INFINITY }
  const growth = () => least.large / Math.max(least.small, leastMicroseconds)
  run(write(size / 32))
  for (let tries = 0; tries < mostTries && (tries === 0 || growth() > plain); tries += 1) {
    // The large input first: what is compiled meanwhile speeds up the small one, and can only make the growth look larger.
    least.large = Math.min(
      least.large,
      costOf(() => run(large), 1),
    )
    least.small = Math.min(
      least.small,
      costOf(() => run(small), enoughRuns),
    )
  }
  return growth()
}

/** Microseconds of one run, as the mean of up to `mostRuns`. */
function costOf(run: () => unknown, mostRuns: number): number {
  const before = process.threadCpuUsage()
  for (let runs = 1; ; runs += 1) {
    run()
    const { user, system } = process.threadCpuUsage(before)
    if (runs >= mostRuns || user + system >= enoughMicroseconds) return (user + system) / runs
  }
}
