// Sets the number of draws in quick and in long test runs.
/**
 * True in `npm run test:long`, which draws and kills often enough to find rare faults; `npm test` only checks that each rule holds. The
 * variable lacks the prefix POSTERN_, because a gateway with this environment refuses unknown variables with that prefix.
 */
export const isLongRun = process.env.TEST_SCALE === 'long'

interface Scale {
  /** The count in `npm test`. */
  readonly quick: number
  /** The count in `npm run test:long`. */
  readonly long: number
}

/** Returns the number of draws, kills or repetitions of a test. */
export const drawCount = ({ quick, long }: Scale): number => (isLongRun ? long : quick)

/** Returns delays from zero to `lastMs`, evenly spaced. The first and the last are the same in both runs. */
export function drawDelays({ lastMs, ...scale }: Scale & { readonly lastMs: number }): readonly number[] {
  const count = drawCount(scale)
  return Array.from({ length: count }, (_, index) => (index * lastMs) / (count - 1))
}
