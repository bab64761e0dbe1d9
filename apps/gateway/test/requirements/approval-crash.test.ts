import { drawDelays } from '@postern/testing/scale'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually } from '../setup/gateway.ts'
import { decide, insist } from '../setup/requirement-steps.ts'
import type { TillGateway } from '../setup/till-gateway.ts'
import { askForRefund, openTillGateway } from '../setup/till-gateway.ts'

// These tests run kill -9 between an approval and the end of the approved tool. The tool begins at most once. The model
// gets told if its result is unknown.

const delays = drawDelays({ quick: 2, long: 8, lastMs: 84 })
let setup: TillGateway

beforeAll(async () => {
  setup = await openTillGateway({ tool_policies: { refund: 'preview' } })
})
afterAll(() => setup.close())

test('a gateway that dies around an approved tool call has run it at most once, and admits an unknown result (E-39)', {
  timeout: 240_000,
}, async () => {
  const { gateway, url } = setup
  const texts: string[] = []
  for (const [round, delayMs] of delays.entries()) {
    const order = 100 + round
    const { objectId, path } = await askForRefund(setup, order)
    const pendingResponse = decide({ url: () => url }, path, 'grant').catch(() => undefined)
    // The delays range from before the decision is durable to after the tool has ended.
    await new Promise(resolve => setTimeout(resolve, delayMs))
    await gateway.kill()
    await pendingResponse
    await gateway.start()
    await insist(url, path)
    await eventually(async () => setup.answersTo(objectId).length > 0, 30_000)
    texts.push(setup.expectOneRefund(String(order), setup.answersTo(objectId)[0] ?? ''))
  }
  expect(texts).toContain('made')
})
