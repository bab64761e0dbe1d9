import { drawDelays } from '@postern/testing/scale'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually } from '../setup/gateway.ts'
import type { TillGateway } from '../setup/till-gateway.ts'
import { allowAlways, askForRefund, openTillGateway } from '../setup/till-gateway.ts'

// This test runs kill -9 around the calls that a remembered decision allows. No tool runs twice.

let setup: TillGateway

beforeAll(async () => {
  setup = await openTillGateway({ tool_policies: { refund: 'preview' } })
})
afterAll(() => setup.close())

test('a remembered permission runs a tool at most once if the gateway dies around it (E-39)', {
  timeout: 240_000,
}, async () => {
  const { gateway } = setup
  const { objectId, path } = await askForRefund(setup, 200)
  expect((await allowAlways(setup, path)).status).toBe(200)
  await eventually(async () => setup.answersTo(objectId).length > 0)
  const texts: string[] = []
  for (const [round, delayMs] of drawDelays({ quick: 2, long: 8, lastMs: 105 }).entries()) {
    const order = 201 + round
    const question = await setup.post(`please refund ${order}`)
    // The delays range from before the request to the model to after the tool has ended.
    await new Promise(resolve => setTimeout(resolve, delayMs))
    await gateway.kill()
    await gateway.start()
    await eventually(async () => setup.answersTo(question.objectId).length > 0, 60_000)
    texts.push(setup.expectOneRefund(String(order), setup.answersTo(question.objectId)[0] ?? ''))
  }
  expect(texts).toContain('made')
})
