import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { BaseEvent } from '@ag-ui/client'
import { HttpAgent } from '@ag-ui/client'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { eventually } from '../setup/gateway.ts'
import { decide, findActionPath } from '../setup/requirement-steps.ts'
import type { SwarmGateway } from '../setup/swarm-gateway.ts'
import { annsToken, call, describeSwarm, openSwarmGateway, replyWith } from '../setup/swarm-gateway.ts'
import { listTraces } from '../setup/traces.ts'

// These tests cover tools that wait for permission, called by a swarm (`desk`) and by a single model (`shop`); the tool itself records its runs.

let swarm: SwarmGateway
const tillFile = join(mkdtempSync(join(tmpdir(), 'postern-till-')), 'till')
const readTillLines = () => {
  try {
    return readFileSync(tillFile, 'utf8').trim().split('\n')
  } catch {
    return []
  }
}
let countBefore = 0
const readNewTillLines = () => readTillLines().slice(countBefore)

beforeAll(async () => {
  process.env.TILL = tillFile
  const overrides: Record<string, unknown> = { email: { listen: { port: 0, protocol: 'smtp' } } }
  swarm = await openSwarmGateway((memberName, lastText, { body }) => {
    const { role } = body.messages.at(-1) ?? {}
    // Braces would look like the arguments of a call.
    const plain = (text: string) => text.replace(/[{}"]/g, '')
    if (role === 'tool') return replyWith(`The till says ${plain(lastText)}`)
    if (memberName === 'triage') return call('navigate_to_refunds', {})
    if (lastText.includes('please')) return call('refund', { order: /order (\w+)/.exec(lastText)?.[1] ?? '17' })
    return replyWith(plain(`I was told: ${body.messages.map(({ content }) => content).join(' / ')}`))
  }, overrides)
  const { baseUrl } = swarm.model
  const tools = { tools: '../agents/asking/till.ts', tool_policies: { refund: 'preview', burn: 'forbidden' } }
  const agents = {
    desk: describeSwarm(baseUrl),
    shop: { use: 'openai', base_url: baseUrl, model: 'test-model', prompt: 'I am shop.', ...tools },
  }
  await swarm.gateway.restart({ agents })
})
afterAll(async () => {
  process.env.TILL = ''
  await swarm.close()
})
beforeEach(() => {
  countBefore = readTillLines().length
})

let count = 0
const name = (label: string) => `${label}-${++count}`

function openChat(agent: string): HttpAgent {
  return new HttpAgent({
    url: `${swarm.gateway.url()}/api/v1/agents/${agent}/runs`,
    headers: { authorization: `Bearer ${annsToken}` },
    threadId: name('thread'),
  })
}

/** Runs the chat with the real client, which rejects a stream that breaks a rule. */
async function runChat(chat: HttpAgent, input: string | { readonly interrupt: string; readonly payload: unknown }) {
  const events: BaseEvent[] = []
  const resume =
    typeof input === 'string'
      ? {}
      : { resume: [{ interruptId: input.interrupt, status: 'resolved' as const, payload: input.payload }] }
  if (typeof input === 'string') chat.addMessage({ id: name('msg'), role: 'user', content: input })
  await chat.runAgent(
    { runId: name('run'), ...resume },
    {
      onEvent: ({ event }) => void events.push(event),
      onRunFailed: ({ error }) => {
        throw error
      },
    },
  )
  return { events, text: String(chat.messages.findLast(({ role }) => role === 'assistant')?.content) }
}

const eventsOfType = (events: readonly BaseEvent[], type: string) => events.filter(event => event.type === type)

interface Interrupted {
  readonly outcome: {
    readonly type: string
    readonly interrupts: readonly { readonly id: string; readonly [member: string]: unknown }[]
  }
}

async function askForRefund(chat: HttpAgent, text = 'refund order 17, please') {
  const { events } = await runChat(chat, text)
  const { outcome } = events.at(-1) as unknown as Interrupted
  expect(outcome.type).toBe('interrupt')
  const [interrupt] = outcome.interrupts
  if (!interrupt) throw new Error('there is no interrupt')
  return { events, interrupt }
}

const agents = ['shop', 'desk'] as const

/** Opens a chat with an agent that has a till. */
async function openTill(agent: (typeof agents)[number]): Promise<HttpAgent> {
  const chat = openChat(agent)
  if (agent === 'desk') await runChat(chat, 'I want my money back')
  return chat
}

test.each(agents)(
  'an approval in the web chat runs the tool of %s once, with its result for the model (C-23, C-24, E-38, E-39)',
  async agent => {
    const chat = await openTill(agent)
    const { events, interrupt } = await askForRefund(chat)
    const [toolCallStart] = eventsOfType(events, 'TOOL_CALL_START') as unknown as readonly {
      readonly toolCallId: string
    }[]
    expect(interrupt).toMatchObject({
      reason: 'tool_call',
      toolCallId: toolCallStart?.toolCallId,
      message: 'Give 20.00 back for order 17?',
      responseSchema: { properties: { approved: { type: 'boolean' } } },
    })
    expect(eventsOfType(events, 'TOOL_CALL_RESULT')).toEqual([])
    expect(readNewTillLines()).toEqual([])

    const { events: laterEvents, text } = await runChat(chat, { interrupt: interrupt.id, payload: { approved: true } })
    expect(eventsOfType(laterEvents, 'TOOL_CALL_START')).toEqual([])
    expect(eventsOfType(laterEvents, 'TOOL_CALL_RESULT')).toMatchObject([
      { toolCallId: toolCallStart?.toolCallId, content: '{"refunded":"17"}' },
    ])
    expect(text).toBe('The till says refunded:17')
    expect(readNewTillLines()).toEqual(['begun 17', 'done 17'])
  },
)

test.each(agents)('the answer of %s contains the file of a call that waited', async agent => {
  const chat = await openTill(agent)
  const { interrupt } = await askForRefund(chat, 'refund order receipt, please')
  const { text } = await runChat(chat, { interrupt: interrupt.id, payload: { approved: true } })
  expect(text).toMatch(/^\[receipt\.txt\]\(https:.*\)\n\nThe till says refunded:receipt$/)
})

test.each(agents)('a declined tool of %s never runs, and its model learns of it (C-24, E-39)', async agent => {
  const chat = await openTill(agent)
  const { interrupt } = await askForRefund(chat)
  const { events, text } = await runChat(chat, { interrupt: interrupt.id, payload: { approved: false } })
  expect(eventsOfType(events, 'TOOL_CALL_RESULT')).toMatchObject([{ content: 'It was not allowed.' }])
  expect(text).toBe('The till says error:It was not allowed.')
  expect(readNewTillLines()).toEqual([])
})

interface Envelope {
  readonly type: string
  readonly role: string
  readonly payload: Readonly<Record<string, unknown>>
  readonly metadata: Readonly<Record<string, unknown>>
}

test.each(agents)(
  'in envelopes of %s, the waiting call stands for the result, which follows after the decision (E-38)',
  async agent => {
    const chat = await openTill(agent)
    const { interrupt } = await askForRefund(chat)
    const envelopes = async () => {
      const [newest] = await swarm.gateway.messages()
      const query = new URLSearchParams({ format: 'envelope', thread: newest?.id ?? '' })
      const { messages } = await swarm.requestOperator<{ messages: readonly Envelope[] }>(`/transcript?${query}`)
      return messages.slice(messages.findIndex(({ payload }) => payload.tool_name === 'refund'))
    }
    const waiting = await envelopes()
    expect(waiting.map(({ type }) => type)).toEqual(['tool_call', 'approval_required'])
    const [toolCallRow, approval] = waiting
    expect(approval).toMatchObject({
      role: 'tool',
      payload: {
        action_id: expect.stringMatching(/^[0-9a-f]{32}$/),
        kind: 'refund',
        summary: 'Give 20.00 back for order 17?',
        status: 'pending',
        arguments: ['order'],
      },
    })
    await runChat(chat, { interrupt: interrupt.id, payload: { approved: true } })
    const decisionEnvelopes = await envelopes()
    expect(decisionEnvelopes.map(({ type }) => type)).toEqual([
      'tool_call',
      'approval_required',
      'text',
      'tool_result',
      'text',
    ])
    expect(decisionEnvelopes[3]).toMatchObject({
      payload: { tool_name: 'refund', success: true, tool_data: { refunded: '17' } },
      metadata: { tool_call_id: toolCallRow?.metadata.tool_call_id, action_status: 'accepted' },
    })
  },
)

test.each(agents)('further messages to %s never run an undecided call, and the model knows it', async agent => {
  const chat = await openTill(agent)
  const { interrupt } = await askForRefund(chat)
  // The client itself would wait for the decision.
  const otherClient = new HttpAgent({ url: chat.url, headers: chat.headers, threadId: chat.threadId })
  const { text } = await runChat(otherClient, 'Are you still there?')
  expect(text).toContain('It still waits to be allowed.')
  expect(readNewTillLines()).toEqual([])
  await runChat(chat, { interrupt: interrupt.id, payload: { approved: true } })
  expect(readNewTillLines()).toEqual(['begun 17', 'done 17'])
})

test.each(agents)('an approval by the link in a mail lets %s continue by mail, once (E-39)', async agent => {
  const { mail } = swarm.gateway.simulation
  const receipt = await mail.deliver({ to: `${agent}@agents.test`, text: agent === 'desk' ? 'My money' : 'please' })
  const first = await mail.awaitReply(receipt.mail.messageId, 30_000)
  let askedMail = first
  if (agent === 'desk') {
    const secondReceipt = await mail.deliver({
      to: 'desk@agents.test',
      text: 'please',
      inReplyTo: first.messageId,
    } as never)
    askedMail = await mail.awaitReply(secondReceipt.mail.messageId, 30_000)
  }
  expect(askedMail.text).toContain('Give 20.00 back for order 17?')
  const path = findActionPath(askedMail.text ?? '')
  const answers = await Promise.all(['grant', 'grant', 'decline'].map(word => decide(swarm.gateway, path, word)))
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409])
  const isGranted = answers[2]?.status !== 200
  const expectedText = isGranted ? 'The till says refunded:17' : 'The till says error:It was not allowed.'
  const from = `${agent}@agents.test`
  const isAnswer = (receivedMail: (typeof mail.received)[number]) =>
    JSON.stringify(receivedMail.headers.get('from') ?? '').includes(from) && receivedMail.text?.includes(expectedText)
  await eventually(async () => mail.received.some(isAnswer))
  expect(readNewTillLines()).toEqual(isGranted ? ['begun 17', 'done 17'] : [])
})

test('a chat shows each change of speaker, and messages have their speaker’s name (W-31)', async () => {
  const chat = openChat('desk')
  const { events } = await runChat(chat, 'I want my money back')
  expect(eventsOfType(events, 'STATE_SNAPSHOT')).toMatchObject([
    { snapshot: { activeAgent: 'triage', navigationStack: [] } },
  ])
  expect(eventsOfType(events, 'STATE_DELTA')).toMatchObject([
    {
      delta: [
        { op: 'replace', path: '/activeAgent', value: 'refunds' },
        { op: 'replace', path: '/navigationStack', value: ['refunds'] },
      ],
    },
  ])
  expect(eventsOfType(events, 'TEXT_MESSAGE_START')).toMatchObject([{ name: 'refunds' }])
  expect(chat.state).toEqual({ activeAgent: 'refunds', navigationStack: ['refunds'] })

  // A client that rejoins without any messages receives all of them.
  const late = new HttpAgent({ url: chat.url, headers: chat.headers, threadId: chat.threadId })
  const seenEvents: BaseEvent[] = []
  await late.runAgent({ runId: name('run') }, { onEvent: ({ event }) => void seenEvents.push(event) })
  expect(eventsOfType(seenEvents, 'STATE_SNAPSHOT')).toMatchObject([{ snapshot: { activeAgent: 'refunds' } }])
  expect(late.messages.at(-1)).toMatchObject({ role: 'assistant', name: 'refunds' })
  const { events: next } = await runChat(chat, 'And now?')
  expect(eventsOfType(next, 'STATE_SNAPSHOT')).toMatchObject([{ snapshot: { activeAgent: 'refunds' } }])
  expect(eventsOfType(next, 'STATE_DELTA')).toEqual([])
})

test('a reader with access to traces sees the actions with their agents (S-34)', async () => {
  const chat = openChat('desk')
  await runChat(chat, 'I want my money back')
  const readHistory = async (query: string) => {
    const headers = { authorization: `Bearer ${annsToken}` }
    const response = await fetch(
      `${swarm.gateway.url()}/api/v1/agents/desk/history?threadId=${chat.threadId}${query}`,
      {
        headers,
      },
    )
    return ((await response.json()) as { messages: readonly { role: string; name?: string; content: string }[] })
      .messages
  }
  expect((await readHistory('')).map(({ role, name: author }) => [role, author])).toEqual([
    ['user', undefined],
    ['assistant', 'refunds'],
  ])
  expect((await readHistory('&include=trace')).map(({ role, name: author }) => [role, author])).toEqual([
    ['user', undefined],
    ['assistant', 'triage'],
    ['tool', undefined],
    ['assistant', 'refunds'],
  ])
})

test.each(agents)('the gateway deletes waiting and decided calls of %s when it forgets their sender', async agent => {
  const { mail } = swarm.gateway.simulation
  const from = `${name('patron')}@alice.test`
  const sendMail = async (text: string, inReplyTo?: string) => {
    const receipt = await mail.deliver({ from, to: `${agent}@agents.test`, text, inReplyTo })
    return mail.awaitReply(receipt.mail.messageId, 30_000)
  }
  const order = name(`durian${agent}`).replace('-', '')
  const firstMessage = agent === 'desk' ? (await sendMail('My money')).messageId : undefined
  const askedMail = await sendMail(`order ${order}a, please`, firstMessage)
  expect((await decide(swarm.gateway, findActionPath(askedMail.text ?? ''), 'grant')).status).toBe(200)
  await eventually(async () => mail.received.some(({ text }) => text?.includes(`refunded:${order}a`)))
  await sendMail(`order ${order}b, please`, firstMessage)
  const traces = () => listTraces(swarm.gateway.dataDir, order)
  expect(traces()).toEqual(expect.arrayContaining(['messages', 'records']))
  await swarm.requestOperator('/people/forget', { address: from })
  expect(traces()).toEqual([])
})

test('the gateway deletes waiting and decided calls when it forgets a person in the chat', async () => {
  const chat = await openTill('desk')
  const { interrupt } = await askForRefund(chat, 'order longan1, please')
  await runChat(chat, { interrupt: interrupt.id, payload: { approved: true } })
  await askForRefund(chat, 'order longan2, please')
  const traces = () => listTraces(swarm.gateway.dataDir, 'longan')
  expect(traces()).toEqual(expect.arrayContaining(['messages', 'records']))
  await swarm.requestOperator('/owners/forget', { owner: 'web:["https://agents.test","ann"]' })
  expect(traces()).toEqual([])
})
