import type { ModelServer } from '@postern/agents/test-model-server'
import { openModelServer, replyWith, respondWithToolCall } from '@postern/agents/test-model-server'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Gateways } from './gateways.ts'
import { openGateways } from './gateways.ts'

let gateways: Gateways
let model: ModelServer
let passing: ModelServer

beforeAll(async () => {
  model = await openModelServer(({ body }) =>
    body.messages.at(-1)?.role === 'user' ? respondWithToolCall('navigate_to_far', {}) : replyWith('Never heard'),
  )
  passing = await openModelServer(({ body }) =>
    body.tools ? respondWithToolCall('navigate_to_other', {}) : replyWith('It ends with me.'),
  )
  const agentConfig = {
    use: 'swarm',
    default_agent: 'triage',
    model: { base_url: model.baseUrl, model: 'test-model' },
    members: { triage: { prompt: 'I am triage.', navigates_to: ['far'] }, far: { address: '@two@b.test' } },
  }
  /** Hands over to the other agent as long as the model can, and says so when it cannot. */
  const pass = (address: string) => ({
    use: 'swarm',
    default_agent: 'passer',
    model: { base_url: passing.baseUrl, model: 'test-model' },
    members: { passer: { prompt: 'I am passer.', navigates_to: ['other'] }, other: { address } },
  })
  gateways = await openGateways({
    'a.test': { agents: { desk: agentConfig, ping: pass('@pong@b.test') } },
    'b.test': { agents: { two: { use: '../agents/calling/courier.ts' }, pong: pass('@ping@a.test') } },
  })
})
afterAll(async () => {
  await gateways.close()
  await model.close()
  await passing.close()
})

test('a hand-over to an agent on another host is an A2A call with the next hop, under the same address (W-24)', async () => {
  const result = await gateways.simulation.send({ via: 'activitypub', to: 'desk', text: 'Hello there' })
  expect(result.reply?.text).toContain('two@b.test heard desk@a.test by a2a at hop 1 of 5')
  const secondResult = await gateways.simulation.send({
    via: 'activitypub',
    to: 'desk',
    text: 'And again',
    thread: result.thread,
  })
  expect(secondResult.reply?.text).toContain('two@b.test heard desk@a.test by a2a')
  expect(model.requests).toHaveLength(1)
})

test('two swarms that hand over to each other stop at the hop limit, and the last one answers (W-24)', async () => {
  const result = await gateways.simulation.send({ via: 'activitypub', to: 'ping', text: 'Hello there' })
  expect(result.reply?.text).toContain('It ends with me.')
  const turns = [...(await gateways.records('a.test', 'ping')), ...(await gateways.records('b.test', 'pong'))]
  const hops = turns.map(({ message }) => message.recipient_capabilities.agent_chain?.hop ?? 0)
  expect(hops.sort()).toEqual([0, 1, 2, 3, 4, 5])
  expect(passing.requests).toHaveLength(6)
})
