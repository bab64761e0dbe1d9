import { afterAll, beforeAll, expect, test } from 'vitest'
import type { WebGateway } from '../setup/web-gateway.ts'
import { openWebGateway } from '../setup/web-gateway.ts'

// These tests use answers that refer to files which the gateway does not have.

let web: WebGateway

beforeAll(async () => {
  web = await openWebGateway(
    {},
    { agents: { pointer: { use: '../agents/chat/pointer.ts' } }, default_agent: 'pointer' },
  )
})
afterAll(() => web.close())

/** Expects the text, the address of the file on another host, and a line for the file that does not exist. */
function expectWhole(answer: unknown): void {
  const text = JSON.stringify(answer)
  expect(text).toContain('Here are the plans.')
  expect(text).toContain('https://files.test/plans.pdf')
  expect(text).toContain('lost.pdf: this file is not stored here.')
  expect(text).not.toMatch(/attachments\/[ab]{64}/)
}

test.each(['activitypub', 'a2a', 'email'] as const)(
  'an answer by %s keeps its text and links to a file on another host',
  async via => {
    const { reply } = await web.gateway.simulation.send({
      via,
      to: 'pointer',
      text: 'The plans, please.',
      timeoutMs: 30_000,
    })
    expectWhole(reply)
  },
)

test('an answer in the chat keeps its text and links to a file on another host', async () => {
  const threadId = 'far-files'
  await web.runChat('The plans, please.', { threadId })
  const rows = await web.readHistory(threadId)
  expectWhole(rows.filter(({ role }) => role === 'assistant'))
})
