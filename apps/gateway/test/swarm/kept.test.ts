import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { SwarmGateway } from '../setup/swarm-gateway.ts'
import { call, nameOne, openSwarmChat, openSwarmGateway, replyWith } from '../setup/swarm-gateway.ts'
import { picture } from './picture.ts'

// These tests restart a gateway to check which data a swarm stores.

let swarm: SwarmGateway
let prompts: string[] = []

const settings = {
  states: { basket: { default: { items: [] } }, sold: { default: 0, shared: true } },
  storages: { log: {}, shelves: { shared: true } },
  computes: '../agents/swarm/sums.ts',
}

/** The model's answers, by the user's latest text. */
const answers: readonly (readonly [
  RegExp,
  (match: RegExpExecArray, member: string) => ReturnType<typeof replyWith>,
])[] = [
  [/^put (\w+)/, ([, item]) => call('put', { item })],
  [/^show$/, () => call('show_basket', {})],
  [/^hand over$/, (_, member) => (member === 'seller' ? call('navigate_to_clerk', {}) : replyWith('Clerk here.'))],
  [/^hand back$/, (_, member) => (member === 'clerk' ? call('navigate_back', {}) : replyWith('Seller here.'))],
  [/^sum up$/, () => call('sum_up', { text: 'In few words: a lot' })],
  [/^In few words/, () => replyWith('A little.')],
  [/^nothing$/, () => replyWith('')],
  [/show me$/, () => call('photo', {})],
]

beforeAll(async () => {
  swarm = await openSwarmGateway((memberName, lastText, { body }) => {
    prompts.push(JSON.stringify(body.messages))
    if (body.messages.at(-1)?.role === 'tool') {
      const query = String(body.messages.findLast(({ role }) => role === 'user')?.content)
      return query.endsWith('put broken') ? { status: 418 } : replyWith(`Tool: ${lastText.replace(/[{}]/g, '')}`)
    }
    const text = lastText.split('\n').at(-1) ?? ''
    for (const [pattern, answer] of answers) {
      const match = pattern.exec(text)
      if (match) return answer(match, memberName)
    }
    return replyWith(`${memberName} heard ${text}`)
  })
  const agentConfig = {
    use: 'swarm',
    default_agent: 'seller',
    model: { base_url: swarm.model.baseUrl, model: 'test-model' },
    members: {
      seller: { prompt: 'I am seller.', tools: '../agents/swarm/basket.ts', navigates_to: ['clerk'] },
      clerk: { prompt: 'I am clerk.', tools: '../agents/swarm/basket.ts', navigates_back: true },
    },
    ...settings,
  }
  await swarm.gateway.restart({ agents: { desk: agentConfig } })
})
afterAll(() => swarm.close())
beforeEach(() => {
  prompts = []
})

const chat = openSwarmChat({
  get gateway() {
    return swarm.gateway
  },
})

/** Returns the text of the answer. */
async function runChat(threadId: string, text: string): Promise<string> {
  const reportedText = await chat.runChat(threadId, text)
  const deltas = [...reportedText.matchAll(/"type":"TEXT_MESSAGE_CONTENT".*?"delta":("(?:[^"\\]|\\.)*")/g)]
  return deltas.map(([, delta = '""']) => JSON.parse(delta) as string).join('')
}

async function exportNewest(format: string): Promise<readonly Record<string, unknown>[]> {
  const [newest] = await swarm.gateway.messages()
  const query = new URLSearchParams({ format, thread: newest?.id ?? '' })
  return (await swarm.requestOperator<{ messages: readonly Record<string, unknown>[] }>(`/transcript?${query}`))
    .messages
}

test('states, storages and computes survive a restart, for the conversation and for all (W-22)', async () => {
  const [firstThreadId, secondThreadId] = [nameOne('thread'), nameOne('thread')]
  await runChat(firstThreadId, 'put bread')
  expect(await runChat(firstThreadId, 'put milk')).toContain(
    '"items":"bread milk","sold":2,"log":"bread milk","shelves":"bread milk","total":"2 of 2"',
  )
  expect(await runChat(secondThreadId, 'put salt')).toContain(
    '"items":"salt","sold":3,"log":"salt","shelves":"bread milk salt","total":"1 of 3"',
  )
  await swarm.gateway.restart()
  expect(await runChat(firstThreadId, 'hand over')).toBe('Clerk here.')
  expect(await runChat(firstThreadId, 'show')).toContain(
    '"items":"bread milk","sold":3,"log":"bread milk","shelves":"bread milk salt","total":"2 of 3"',
  )
})

test('the active agent, its stack and the history survive a restart (W-22)', async () => {
  const thread = nameOne('thread')
  await runChat(thread, 'first words')
  await runChat(thread, 'hand over')
  await swarm.gateway.restart()
  const text = await chat.runChat(thread, 'second words')
  expect(text).toContain('"snapshot":{"activeAgent":"clerk","navigationStack":["clerk"]}')
  expect(text).toContain('clerk heard second words')
  expect(prompts.at(-1)).toContain('seller heard first words')
})

test('an agent may return the conversation to the previous one, also after a restart (W-20)', async () => {
  const thread = nameOne('thread')
  expect(await runChat(thread, 'hand over')).toBe('Clerk here.')
  await swarm.gateway.restart()
  const text = await chat.runChat(thread, 'hand back')
  expect(text).toContain('Seller here.')
  expect(text).toMatch(
    /"STATE_DELTA".*"path":"\/activeAgent","value":"seller".*"path":"\/navigationStack","value":\[\]/,
  )
  expect(await runChat(thread, 'who is it')).toBe('seller heard who is it')
})

test('a failed turn loses its conversation data, and keeps shared data', async () => {
  const thread = nameOne('thread')
  const shownBefore = await runChat(thread, 'show')
  expect(shownBefore).toContain('"items":"","')
  await chat.runChat(thread, 'put broken')
  const shownElsewhere = await runChat(nameOne('thread'), 'show')
  expect(shownElsewhere).toContain('broken')
  const ownBasket = await runChat(thread, 'show')
  expect(ownBasket).toContain('"items":"","sold":')
  expect(ownBasket).toContain('"log":""')
})

test('a tool’s stateless question to the model neither reads nor changes the conversation (W-30)', async () => {
  const thread = nameOne('thread')
  await runChat(thread, 'first words')
  expect(await runChat(thread, 'sum up')).toBe('Tool: A little.')
  const stateless = prompts.find(prompt => prompt.includes('In few words') && !prompt.includes('tool_calls'))
  expect(JSON.parse(stateless ?? '[]')).toEqual([
    { role: 'system', content: 'I am seller.' },
    { role: 'user', content: 'In few words: a lot' },
  ])
  const rows = await exportNewest('swarm')
  expect(rows.map(({ role, content }) => [role, content])).toEqual([
    ['user', 'first words'],
    ['assistant', 'seller heard first words'],
    ['user', 'sum up'],
    ['assistant', ''],
    ['tool', 'A little.'],
    ['assistant', 'Tool: A little.'],
  ])
})

test('entries before a rescue reach no model any more, but stay readable with its reason (W-12, W-13)', async () => {
  const thread = nameOne('thread')
  await runChat(thread, 'old words')
  await runChat(thread, 'nothing')
  prompts = []
  await runChat(thread, 'new words')
  expect(prompts).toHaveLength(1)
  expect(prompts[0]).not.toContain('old words')
  const [newest] = await swarm.gateway.messages()
  const { thread: number } = await swarm.gateway.readMessage(newest?.id ?? '')
  const query = new URLSearchParams({ format: 'swarm', owner: 'agent:desk', thread: `swarm:${number}` })
  const { messages } = await swarm.requestOperator<{ messages: readonly { role: string; content: string }[] }>(
    `/transcript?${query}`,
  )
  expect(messages.map(({ role }) => role)).toEqual([
    'user',
    'assistant',
    'user',
    'resque',
    'assistant',
    'user',
    'assistant',
  ])
  expect(messages.find(({ role }) => role === 'resque')?.content).toBe('empty output')
  expect(messages[0]?.content).toBe('old words')
})

test('a picture that a tool adds to the answer leaves as a file by mail, A2A and fediverse (W-05)', async () => {
  const { mail, a2a, fediverse } = swarm.gateway.simulation
  const bytes = Buffer.from(picture, 'base64')
  const receipt = await mail.deliver({ to: 'desk@agents.test', text: 'show me' })
  const replyMail = await mail.awaitReply(receipt.mail.messageId, 30_000)
  expect(replyMail.text).toContain('Tool: shown')
  expect(replyMail.octets.toString().replace(/\r?\n/g, '')).toContain(picture)

  const message = { messageId: nameOne('msg'), role: 'ROLE_USER', parts: [{ text: 'show me' }] }
  const authorization = `Bearer ${await a2a.token({ sub: 'carol' })}`
  const headers = { 'content-type': 'application/json', 'a2a-version': '1.0', authorization }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message } })
  const response = await fetch(`${swarm.gateway.url()}/agents/desk/a2a`, { method: 'POST', headers, body })
  expect(await response.text()).toMatch(
    /"filename":"basket\.png"[^}]*"mediaType":"image\/png"|"mediaType":"image\/png"[^}]*"filename":"basket\.png"/,
  )

  const { objectId } = await fediverse.deliver({ to: '@desk@agents.test', text: '@desk@agents.test show me' })
  const { activity } = await fediverse.awaitReply(objectId, 30_000)
  const [attached] =
    (activity.object as { attachment?: readonly { url: string; mediaType: string }[] }).attachment ?? []
  expect(attached?.mediaType).toBe('image/png')
  const { pathname, search } = new URL(attached?.url ?? '')
  const file = await fetch(`${swarm.gateway.url()}${pathname}${search}`)
  expect(Buffer.from(await file.arrayBuffer())).toEqual(bytes)
})
