const tries = 5

/**
 * How many times more processor time `run` takes for eight times the input: about 8 when it is linear, 64 when it is
 * quadratic. Of this thread alone, and the best of several tries in turn, so that neither a neighbour's work nor the tidying
 * behind counts; the small input is run eight times for each large one, since short times are known less well.
 */
export function measureGrowth(run: (text: string) => unknown, piece: string, size: number): number {
  const write = (length: number) => piece.repeat(length / piece.length)
  const [small, large] = [write(size / 8), write(size)]
  const cost = (text: string, runs: number) => {
    const before = process.threadCpuUsage()
    for (let count = 0; count < runs; count += 1) run(text)
    const { user, system } = process.threadCpuUsage(before)
    return (user + system) / runs
  }
  run(write(size / 32))
  const costs = Array.from({ length: tries }, () => [cost(small, 8), cost(large, 1)] as const)
  const least = (at: 0 | 1) => Math.min(...costs.map(pair => pair[at]))
  return least(1) / Math.max(least(0), 2_000)
}
