// Tests that the rows of a store stay consistent under random steps, on both engines.
import { expect, test } from 'vitest'
import type { SystemStore } from './random-system.ts'
import { Randomness } from './random-system.ts'

const steps = 250
/** The range of seeds. A developer tries others by hand: `SEEDS=1000-2000 npx vitest run packages/store/src/soundness.test.ts`. */
const [from = 1, to = 4] = process.env.SEEDS?.split('-').map(Number) ?? []
const seeds = Array.from({ length: to - from + 1 }, (_, at) => from + at)

/** Lists the faults in the rows of a store. With `isDone`, open work is a fault, too. */
export type FindUnsound = (options?: { readonly isDone?: boolean }) => Promise<readonly string[]> | readonly string[]

/** Tests the rows of a store, whatever its engine. */
export function soundnessModel(open: () => Promise<SystemStore & { readonly findUnsound: FindUnsound }>): void {
  test.each(seeds)(
    'in any interleaving of endpoints, workers, agents and people, rows stay consistent and all work ends (seed %i)',
    async seed => {
      const tested = await open()
      const system = new Randomness(tested, seed)
      for (let step = 1; step <= steps; step += 1) {
        await system.step()
        if (step % 25 > 0) continue
        expect(await tested.findUnsound(), `after step ${step}: ${system.trace.slice(-12).join(', ')}`).toEqual([])
      }
      expect(await system.finish()).toBe(true)
      expect(await tested.findUnsound({ isDone: true })).toEqual([])
      await tested.store.close()
    },
    180_000,
  )
}
