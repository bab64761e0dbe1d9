import { drawDelays } from '@postern/testing/scale'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { decide, findActionPath, insist } from './demand-steps.ts'
import { eventually } from './house.ts'
import type { TillHouse } from './till-house.ts'
import { openTillHouse } from './till-house.ts'

// kill -9 between a yes and the end of the tool that it allowed: the tool has begun once at most, and the model is told what is known.

const delays = drawDelays({ quick: 3, long: 8, lastMs: 84 })
let house: TillHouse

beforeAll(async () => {
  house = await openTillHouse({ tool_policies: { refund: 'preview' } })
})
afterAll(() => house.close())

test('E-39: a gateway that is killed while an allowed tool begins or runs has run it once at most, and says so', {
  timeout: 240_000,
}, async () => {
  const { world, gateway, url } = house
  const heard: string[] = []
  for (const [round, delayMs] of delays.entries()) {
    const order = String(100 + round)
    const { objectId } = await house.post(`please refund ${order}`)
    const { activity } = await world.fediverse.awaitReply(objectId, 30_000)
    const path = findActionPath(JSON.stringify(activity.object))
    const decided = decide({ url: () => url }, path, 'grant').catch(() => undefined)
    // From before the decision is durable to after the tool has ended.
    await new Promise(resolve => setTimeout(resolve, delayMs))
    await gateway.kill()
    await decided
    await gateway.start()
    await insist(url, path)
    await eventually(async () => house.answersTo(objectId).length > 0, 30_000)
    heard.push(house.expectOneRing(order, house.answersTo(objectId)[0] ?? ''))
  }
  expect(heard).toContain('made')
})
