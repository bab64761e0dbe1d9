import { expect, test } from 'vitest'
import { openTestDesk } from '../test/open-test-desk.ts'
import { RandomWorld } from '../test/random-world.ts'
import { findUnsound } from '../test/soundness.ts'

const steps = 250
/** Others are looked for by hand: `SEEDS=1000-2000 npx vitest run packages/store/src/soundness.test.ts`. */
const [from = 1, to = 4] = process.env.SEEDS?.split('-').map(Number) ?? []
const seeds = Array.from({ length: to - from + 1 }, (_, at) => from + at)

test.each(seeds)(
  'whatever doors, workers, agents and people do in between, rows fit together and all work comes to an end (seed %i)',
  async seed => {
    const tested = await openTestDesk()
    const world = new RandomWorld(tested, seed)
    for (let step = 1; step <= steps; step += 1) {
      await world.step()
      if (step % 25 > 0) continue
      expect(findUnsound(tested.file), `after step ${step}: ${world.trace.slice(-12).join(', ')}`).toEqual([])
    }
    expect(await world.finish()).toBe(true)
    expect(findUnsound(tested.file, { isDone: true })).toEqual([])
    await tested.desk.close()
  },
  60_000,
)
