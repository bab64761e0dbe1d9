// Computes medians, quantiles and ratios of measured rounds.

/** Returns the value at `fraction` (0–1) of the sorted values, or NaN without values. */
export function quantile(values: readonly number[], fraction: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * fraction))] ?? Number.NaN
}

/** Returns the median, over all rounds, of the ratio between a round and the baseline round with the same index. */
export function medianRatio<Round>(
  rounds: readonly Round[],
  baseline: readonly Round[],
  measure: (round: Round) => number,
): number {
  return median(rounds.map((round, index) => measure(round) / measure(baseline[index] ?? round)))
}

/** Returns the median, which is the mean of the two middle values for an even count. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length / 2
  const [low, high] = [sorted[Math.ceil(middle) - 1], sorted[Math.floor(middle)]]
  return low === undefined || high === undefined ? Number.NaN : (low + high) / 2
}
