import { expect, test } from 'vitest'
import { openTestGateway } from '../setup/gateway.ts'

test('the gateway retries a module that throws Unavailable after the given seconds, and the sender gets the answer', async () => {
  const agents = { busy: { use: '../sdk/agents/busy.ts' } }
  const gateway = await openTestGateway(() => ({ agents, default_agent: 'busy' }))
  const { id } = await gateway.simulation.send({ via: 'email', to: 'busy', text: 'hello', timeoutMs: 30_000 })
  const { response, turn } = (await gateway.readMessage(id)) as unknown as {
    response: { parts: { content: string }[] }
    turn: { attempts: { error?: { message: string } }[] }
  }
  expect(response.parts[0]?.content).toMatch(/^0, [2-4], [2-4]$/)
  expect(JSON.stringify(turn)).toContain('The orders do not answer')
  await gateway.close()
})
