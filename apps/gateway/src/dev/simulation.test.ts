import { toProblem } from '@postern/http'
import type { SendRequest, Simulation } from '@postern/simulation'
import { expect, test } from 'vitest'
import { createOperationRouter } from '../api/router.ts'
import { createSimulationRoutes } from './simulation.ts'

const simulation = { send: async (request: SendRequest) => ({ request }) } as unknown as Simulation
const app = createOperationRouter(createSimulationRoutes(simulation), (_, next) => next())
app.onError(error => toProblem(error))

const send = (body: string | ReadableStream) =>
  app.request('/operator/api/simulation/send', { method: 'POST', body, duplex: 'half' } as RequestInit)

test.each([
  ['is no object', () => 'null'],
  ['is no JSON', () => '{'],
  ['names an agent that is no text', () => '{"via":"email","to":{"trim":1},"text":"x"}'],
  ['is cut', () => new ReadableStream({ pull: controller => controller.error(new Error('aborted')) })],
])('a request to the simulation that %s gets a refusal, not a bug', async (_, write) => {
  expect((await send(write())).status).toBe(400)
})

test('a request reaches the simulation in its own words, with the time that somebody waits for a reply', async () => {
  const asked = { via: 'email', to: 'echo', text: 'hello' }
  const request = { ...asked, timeoutMs: 10_000 }
  expect(await (await send(JSON.stringify(asked))).json()).toEqual({ request, expected: { outcome: 'answered' } })
})
