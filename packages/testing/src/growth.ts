/**
 * How many times more processor time `run` takes for eight times the input: about 8 when it is linear, 64 when it is
 * quadratic. Of this thread alone, and the best of five tries in turn, so that neither a neighbour's work nor the tidying
 * behind counts.
 */
export function measureGrowth(run: (text: string) => unknown, piece: string, size: number): number {
  const [small, large] = [size / 8, size].map(length => piece.repeat(length / piece.length)) as [string, string]
  const cost = (text: string) => {
    const before = process.threadCpuUsage()
    run(text)
    return process.threadCpuUsage(before).user
  }
  run(piece.repeat(size / 32 / piece.length))
  const tries = [1, 2, 3, 4, 5].map(() => [cost(small), cost(large)] as const)
  const least = (at: 0 | 1) => Math.min(...tries.map(pair => pair[at]))
  return least(1) / Math.max(least(0), 2_000)
}
