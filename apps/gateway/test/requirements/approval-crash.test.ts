import { drawDelays } from '@postern/testing/scale'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { decide } from '../setup/requirement-steps.ts'
import type { TillGateway } from '../setup/till-gateway.ts'
import { answerAfterKill, askForRefund, openTillGateway } from '../setup/till-gateway.ts'

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
  const texts: string[] = []
  for (const [round, delayMs] of delays.entries()) {
    const order = 100 + round
    const refund = await askForRefund(setup, order)
    // The delays range from before the decision is durable to after the tool has ended.
    const decideOnce = () => decide({ url: () => setup.url }, refund.path, 'grant')
    const answer = await answerAfterKill(setup, refund, { delayMs, decide: decideOnce })
    texts.push(setup.expectOneRefund(String(order), answer))
  }
  expect(texts).toContain('made')
})
