import { toProblem } from '@postern/http'
import type { AgentProfile } from '@postern/pipeline'
import { expect, test, vi } from 'vitest'
import { createOperationRouter } from '../../api/router.ts'
import { createAgentRoutes } from './route.ts'

const count = 10_000
const profiles = Array.from({ length: count }, (_, index): AgentProfile => {
  const displayName = index === 9_000 ? 'Front Desk' : `Agent ${index}`
  return { name: `agent${index}`, displayName, description: '', version: '1.0.0' }
})
const isPaused = vi.fn((agent: string) => agent === 'agent1')
const listSpending = vi.fn(() => [
  { labels: { agent: 'agent1', model: 'small', kind: 'input' }, tokens: 7 },
  { labels: { agent: 'agent3', model: 'small', kind: 'input' }, tokens: 9 },
])
const app = createOperationRouter(
  createAgentRoutes({
    agentConfigs: { agent1: { use: 'webhook', url: 'https://me:pass@hooks.example/x' } },
    agents: {
      list: () => profiles,
      find: name => profiles.find(profile => profile.name === name),
      domain: 'agents.test',
      origin: 'https://agents.test',
      defaultAgent: 'agent0',
    },
    meter: { list: listSpending },
    pauses: { isPaused, setPaused: async () => undefined },
  }),
  { authenticate: (_, next) => next() },
)
app.onError(error => toProblem(error))

async function listAgents(query: string) {
  isPaused.mockClear()
  const response = await app.request(`/operator/api/agents${query}`)
  const text = await response.text()
  const { items, next } = JSON.parse(text) as { items: readonly { name: string; url?: string }[]; next: number | null }
  return { items, next, names: items.map(({ name }) => name), bytes: text.length }
}

test('GET /agents returns a page, and describes no agent outside of it', async () => {
  const { items, next, bytes } = await listAgents('')
  expect([items.length, next]).toEqual([50, 50])
  expect(items[1]).toMatchObject({
    address: '@agent1@agents.test',
    use: 'webhook',
    is_default: false,
    is_paused: true,
    tokens: [{ model: 'small', kind: 'input', tokens: 7 }],
  })
  expect(items[1]?.url).not.toContain('pass')
  expect(isPaused).toHaveBeenCalledTimes(50)
  expect(listSpending).toHaveBeenCalledTimes(1)
  expect(bytes).toBeLessThan(50 * 400)
})

test('GET /agents continues after the position of a page, up to the last agent', async () => {
  expect(await listAgents('?limit=2&after=3')).toMatchObject({ names: ['agent3', 'agent4'], next: 5 })
  expect(await listAgents(`?limit=2&after=${count - 2}`)).toMatchObject({
    names: ['agent9998', 'agent9999'],
    next: null,
  })
  expect(await listAgents(`?after=${count}`)).toMatchObject({ names: [], next: null })
})

test('GET /agents searches for a part of the name or of the displayed name', async () => {
  expect(await listAgents('?name=AGENT999&limit=2')).toMatchObject({ names: ['agent999', 'agent9990'], next: 9_991 })
  expect(await listAgents('?name=agent9990')).toMatchObject({ names: ['agent9990'], next: null })
  expect(await listAgents('?name=desk')).toMatchObject({ names: ['agent9000'], next: null })
  expect((await listAgents('?agent=agent77')).names).toEqual(['agent77'])
})

test('GET /agents refuses more than 500 agents at once', async () => {
  expect((await app.request('/operator/api/agents?limit=501')).status).toBe(400)
})
