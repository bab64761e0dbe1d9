/**
 * `npm run test:long` draws and kills as often as it takes to find what is rare; `npm test` checks that each rule holds. The
 * variable has no prefix POSTERN_: a gateway that is started with this environment refuses those that it does not know.
 */
export const isLongRun = process.env.TEST_SCALE === 'long'

interface Scale {
  /** In `npm test`. */
  readonly quick: number
  /** In `npm run test:long`. */
  readonly long: number
}

/** How often a test draws, kills or repeats. */
export const drawCount = ({ quick, long }: Scale): number => (isLongRun ? long : quick)

/** Delays from zero to `lastMs`, evenly spaced; the first and the last are the same in both runs. */
export function drawDelays({ lastMs, ...scale }: Scale & { readonly lastMs: number }): readonly number[] {
  const count = drawCount(scale)
  return Array.from({ length: count }, (_, at) => (at * lastMs) / (count - 1))
}
