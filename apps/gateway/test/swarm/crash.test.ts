import { fileURLToPath } from 'node:url'
import type { ModelServer } from '@postern/agents/test-model-server'
import { openModelServer } from '@postern/agents/test-model-server'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually, operatorToken } from '../setup/gateway.ts'
import type { KilledGateway } from '../setup/killed-gateway.ts'
import { openKilledGateway } from '../setup/killed-gateway.ts'
import { call, lastOf, memberOf, replyWith } from '../setup/swarm-gateway.ts'

// These tests run kill -9 in the middle of a swarm's turn, after a hand-over and a tool that stores something.

let setup: KilledGateway
let model: ModelServer
/** Resolves once the tool has run; the model then answers nothing until it is asked again. */
let toolRan = Promise.withResolvers<void>()
let isHeld = false

beforeAll(async () => {
  model = await openModelServer(request => {
    const [memberName, lastText] = [memberOf(request), lastOf(request)]
    const isResult = request.body.messages.at(-1)?.role === 'tool'
    if (isResult && isHeld) {
      isHeld = false
      toolRan.resolve()
      return { pieces: [], hangs: true }
    }
    if (isResult) return replyWith(`${memberName}: ${lastText.replace(/[{}]/g, '')}`)
    if (lastText.includes('somebody')) return call('navigate_to_human', {})
    if (lastText.endsWith('show')) return call('show_basket', {})
    return memberName === 'seller' ? call('navigate_to_clerk', {}) : call('put', { item: 'bread' })
  })
  const fileOf = (path: string) => fileURLToPath(new URL(path, import.meta.url))
  const tools = fileOf('../agents/swarm/basket.ts')
  const agentConfig = {
    use: 'swarm',
    default_agent: 'seller',
    model: { base_url: model.baseUrl, model: 'test-model' },
    members: {
      seller: { prompt: 'I am seller.', tools, navigates_to: ['clerk', 'human'] },
      clerk: { prompt: 'I am clerk.', tools },
      human: { operator: true, timeout: '60s' },
    },
    states: { basket: { default: { items: [] } }, sold: { default: 0, shared: true } },
    storages: { log: {}, shelves: { shared: true } },
    computes: fileOf('../agents/swarm/sums.ts'),
  }
  setup = await openKilledGateway({ overrides: { agents: { desk: agentConfig } } })
})
afterAll(async () => {
  await setup.close()
  await model.close()
})

async function mention(text: string, context: string): Promise<string> {
  const { fediverse } = setup.simulation
  return (await fediverse.deliver({ to: '@desk@agents.test', text, context, visibility: 'direct' })).objectId
}

test('a killed turn has stored nothing and handed nothing over, and its next try does both once (W-22)', {
  timeout: 120_000,
}, async () => {
  const { fediverse } = setup.simulation
  const wordsOf = async (id: string) =>
    String(((await fediverse.awaitReply(id, 30_000)).activity.object as { content: string }).content)
  for (const round of [1, 2]) {
    const context = `https://mastodon.test/contexts/killed-${round}`
    isHeld = true
    toolRan = Promise.withResolvers()
    const bread = await mention('Bread, please', context)
    await toolRan.promise
    const countBefore = model.requests.length
    await setup.gateway.kill()
    await setup.gateway.start()
    const answer = await wordsOf(bread)
    // The turn starts over: the member that had the conversation first is asked again.
    await eventually(async () => model.requests.length >= countBefore + 3)
    const newPrompts = model.requests
      .slice(countBefore)
      .map(({ body }) => String(body.messages[0]?.content).slice(0, 12))
    expect(newPrompts).toEqual(['I am seller.', 'I am clerk.\n', 'I am clerk.\n'])
    expect(answer).toContain('clerk: ')
    // The conversation has the item once. The shared items were stored at once, both times.
    expect(answer).toMatch(new RegExp(`items.{1,9}:.{1,9}bread.{1,9},.{1,9}sold.{1,9}:${round * 2},`))
    expect(answer).toContain(`1 of ${round * 2}`)
  }
})

test('a question to a human stays the same at the next try of its turn, and an answer in between counts (W-26)', {
  timeout: 60_000,
}, async () => {
  const operate = async (path: string, body?: object) => {
    const headers = { authorization: `Bearer ${operatorToken}`, 'content-type': 'application/json' }
    const init = body ? { method: 'POST', headers, body: JSON.stringify(body) } : { headers }
    const response = await fetch(`${setup.url}/operator/api/questions${path}`, init)
    return { status: response.status, body: (await response.json()) as { items?: readonly { id: string }[] } }
  }
  const query = await mention('May I speak to somebody?', 'https://mastodon.test/contexts/killed-human')
  const id = await eventually(async () => (await operate('')).body.items?.[0]?.id)
  await setup.gateway.kill()
  await setup.gateway.start()
  expect((await operate(`/${id}`, { text: 'It is me, Eve.' })).status).toBe(200)
  const { activity } = await setup.simulation.fediverse.awaitReply(query, 30_000)
  expect((activity.object as { content: string }).content).toContain('It is me, Eve.')
  await eventually(async () => (await operate('')).body.items?.length === 0)
})
