/**
 * How many times more processor time `run` takes for eight times the input: about 8 when it is linear, 64 when it is
 * quadratic. The better of three tries, so that a neighbour's work does not count.
 */
export function measureGrowth(run: (text: string) => unknown, piece: string, size: number): number {
  const cost = (length: number) => {
    const text = piece.repeat(length / piece.length)
    const tries = [1, 2, 3, 4, 5].map(() => {
      const before = process.cpuUsage()
      run(text)
      return process.cpuUsage(before).user
    })
    return Math.min(...tries)
  }
  run(piece.repeat(size / 32 / piece.length))
  const small = Math.max(cost(size / 8), 2_000)
  return cost(size) / small
}
