import type { ModelServer } from '@postern/agents/test-model-server'
import { call, openModelServer, say } from '@postern/agents/test-model-server'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Gateways } from './gateways.ts'
import { openGateways } from './gateways.ts'

let gateways: Gateways
let model: ModelServer

beforeAll(async () => {
  model = await openModelServer(({ body }) =>
    body.messages.at(-1)?.role === 'user' ? call('navigate_to_far', {}) : say('Never heard'),
  )
  const desk = {
    use: 'swarm',
    default_agent: 'triage',
    model: { base_url: model.baseUrl, model: 'stub' },
    members: { triage: { prompt: 'I am triage.', navigates_to: ['far'] }, far: { address: '@two@b.test' } },
  }
  gateways = await openGateways({
    'a.test': { agents: { desk } },
    'b.test': { agents: { two: { use: './agents/courier.ts' } } },
  })
})
afterAll(async () => {
  await gateways.close()
  await model.close()
})

test('W-24: a hand-over to an agent on another host is a call by A2A, one hop further, answered by the same address', async () => {
  const sent = await gateways.world.send({ via: 'activitypub', to: 'desk', text: 'Hello there' })
  expect(sent.reply?.text).toContain('@two@b.test heard @desk@a.test by a2a at hop 1 of 5')
  const again = await gateways.world.send({ via: 'activitypub', to: 'desk', text: 'And again', thread: sent.thread })
  expect(again.reply?.text).toContain('@two@b.test heard @desk@a.test by a2a')
  expect(model.requests).toHaveLength(1)
})
