import { expect, test } from 'vitest'
import type { WorldDesk } from './random-world.ts'
import { RandomWorld } from './random-world.ts'

const steps = 250
/** Others are looked for by hand: `SEEDS=1000-2000 npx vitest run packages/store/src/soundness.test.ts`. */
const [from = 1, to = 4] = process.env.SEEDS?.split('-').map(Number) ?? []
const seeds = Array.from({ length: to - from + 1 }, (_, at) => from + at)

/** What does not fit together in the rows of a desk, by name. `isDone`: nothing may be left to do. */
export type FindUnsound = (options?: { readonly isDone?: boolean }) => Promise<readonly string[]> | readonly string[]

/** Whatever the engine. */
export function soundnessModel(open: () => Promise<WorldDesk & { readonly findUnsound: FindUnsound }>): void {
  test.each(seeds)(
    'whatever doors, workers, agents and people do in between, rows fit together and all work comes to an end (seed %i)',
    async seed => {
      const tested = await open()
      const world = new RandomWorld(tested, seed)
      for (let step = 1; step <= steps; step += 1) {
        await world.step()
        if (step % 25 > 0) continue
        expect(await tested.findUnsound(), `after step ${step}: ${world.trace.slice(-12).join(', ')}`).toEqual([])
      }
      expect(await world.finish()).toBe(true)
      expect(await tested.findUnsound({ isDone: true })).toEqual([])
      await tested.desk.close()
    },
    180_000,
  )
}
