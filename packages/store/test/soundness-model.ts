import { expect, test } from 'vitest'
import type { PlatformStore } from './random-platform.ts'
import { Randomness } from './random-platform.ts'

const steps = 250
/** Others are looked for by hand: `SEEDS=1000-2000 npx vitest run packages/store/src/soundness.test.ts`. */
const [from = 1, to = 4] = process.env.SEEDS?.split('-').map(Number) ?? []
const seeds = Array.from({ length: to - from + 1 }, (_, at) => from + at)

/** What does not fit together in the rows of a store, by name. `isDone`: nothing may be left to do. */
export type FindUnsound = (options?: { readonly isDone?: boolean }) => Promise<readonly string[]> | readonly string[]

/** Whatever the engine. */
export function soundnessModel(open: () => Promise<PlatformStore & { readonly findUnsound: FindUnsound }>): void {
  test.each(seeds)(
    'in any interleaving of endpoints, workers, agents and people, rows fit together and all work ends (seed %i)',
    async seed => {
      const tested = await open()
      const platform = new Randomness(tested, seed)
      for (let step = 1; step <= steps; step += 1) {
        await platform.step()
        if (step % 25 > 0) continue
        expect(await tested.findUnsound(), `after step ${step}: ${platform.trace.slice(-12).join(', ')}`).toEqual([])
      }
      expect(await platform.finish()).toBe(true)
      expect(await tested.findUnsound({ isDone: true })).toEqual([])
      await tested.store.close()
    },
    180_000,
  )
}
