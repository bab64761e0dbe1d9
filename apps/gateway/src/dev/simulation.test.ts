import { toProblem } from '@postern/http'
import { createOperationRouter } from '@postern/operator'
import type { AgentProfile } from '@postern/pipeline'
import type { SendRequest, Simulation } from '@postern/simulation'
import { expect, test } from 'vitest'
import type { DecidingGateway } from './decide.ts'
import { createSimulationRoutes } from './simulation.ts'

const simulation = { send: async (request: SendRequest) => ({ request }) } as unknown as Simulation
const agents = { find: (name: string) => (name === 'slow' ? ({ deadlineMs: 90_000 } as AgentProfile) : undefined) }
const decidingGateway = {} as DecidingGateway
const deps = {
  simulation,
  findGateway: () => ({ agents, store: { findMessage: async () => undefined }, decidingGateway }),
}
const app = createOperationRouter(createSimulationRoutes(deps), { authenticate: (_, next) => next() })
app.onError(error => toProblem(error))

const send = (body: string | ReadableStream) =>
  app.request('/operator/api/simulation/send', { method: 'POST', body, duplex: 'half' } as RequestInit)

test.each([
  ['is no object', () => 'null'],
  ['is no JSON', () => '{'],
  ['names an agent that is no text', () => '{"via":"email","to":{"trim":1},"text":"x"}'],
  ['is cut', () => new ReadableStream({ pull: controller => controller.error(new Error('aborted')) })],
])('the simulation answers a request that %s with 400', async (_, createBody) => {
  expect((await send(createBody())).status).toBe(400)
})

test.each([
  ['as long as the agent may take for one turn', { to: '@slow@agents.test' }, 95_000],
  ['as long as the request says', { to: 'slow', timeout_seconds: 30 }, 30_000],
  ['fifteen seconds for an agent that does not exist', { to: 'nobody' }, 15_000],
])('the simulation passes a request on unchanged and waits %s', async (_, overrides, timeoutMs) => {
  const { to } = overrides
  const request = { via: 'email', text: 'hello', ...overrides }
  const answer = (await (await send(JSON.stringify(request))).json()) as object
  expect(answer).toMatchObject({
    request: { via: 'email', text: 'hello', to, timeoutMs },
    expected: { outcome: 'answered' },
  })
})
