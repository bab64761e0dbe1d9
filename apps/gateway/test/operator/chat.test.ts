import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { eventually, operatorToken } from '../setup/gateway.ts'
import type { OperatorGateway, WaitingRequirement } from '../setup/operator-gateway.ts'
import {
  evesToken,
  findEvents,
  newName,
  openChat,
  openOperatorGateway,
  outcomeOf,
  runChat,
  tillAgents,
} from '../setup/operator-gateway.ts'
import { annsToken } from '../setup/swarm-gateway.ts'

// These tests decide requirements that wait for operators in the operators' own chat, with AG-UI's own client.

let gateway: OperatorGateway
beforeAll(async () => {
  gateway = await openOperatorGateway()
})
afterAll(() => gateway.close())
beforeEach(() => void gateway.readNewTillLines())

const chatUrl = (agent?: string) =>
  `${gateway.swarm.gateway.url()}/api/v1/operator${agent === undefined ? '' : `/agents/${agent}`}/runs`
/** Opens a thread for one requirement that waits; it does not contain the open requirements of other tests. */
const openWaiting = ({ id }: WaitingRequirement, token = evesToken) => openChat(chatUrl(), token, `approval:${id}`)
const approve = (interruptId: string, overrides: object = {}) => {
  return { interruptId, status: 'resolved', payload: { approved: true, ...overrides } } as const
}

test.each(tillAgents)(
  'the operator’s chat shows the complete waiting call of %s, accepts changed arguments, and reports its result (C-23, C-24)',
  async agent => {
    const { objectId, requirement } = await gateway.askForRefund(agent)
    const chat = openWaiting(requirement)
    const events = await runChat(chat)
    expect(events.map(({ type }) => type)).toEqual([
      'RUN_STARTED',
      'STATE_SNAPSHOT',
      'MESSAGES_SNAPSHOT',
      'RUN_FINISHED',
    ])
    const toolCallId = requirement.call?.tool_call_id
    const { type, interrupts } = outcomeOf(events)
    expect(type).toBe('interrupt')
    expect(interrupts).toMatchObject([
      {
        id: requirement.id,
        reason: 'tool_call',
        toolCallId,
        message: 'Give 20.00 back for order 17?',
        responseSchema: {
          properties: { approved: { type: 'boolean' }, editedArgs: { properties: { order: { type: 'string' } } } },
          required: ['approved'],
        },
        metadata: { agent, address: '@alice@mastodon.test', via: 'activitypub', arguments: { order: '17' } },
      },
    ])
    expect(chat.messages).toMatchObject([
      {
        role: 'assistant',
        name: agent,
        toolCalls: [{ id: toolCallId, function: { name: 'refund', arguments: '{"order":"17"}' } }],
      },
    ])
    // E-44: a requirement that is only watched shows names alone.
    expect(chat.state).toMatchObject({ waiting: [{ id: requirement.id, tool: 'refund', arguments: ['order'] }] })
    expect(JSON.stringify(chat.state)).not.toContain('"17"')

    const decisionEvents = await runChat(chat, [approve(requirement.id, { editedArgs: { order: '21' } })])
    expect(findEvents(decisionEvents, 'TOOL_CALL_START')).toEqual([])
    expect(findEvents(decisionEvents, 'TOOL_CALL_RESULT')).toMatchObject([{ toolCallId, content: '{"refunded":"21"}' }])
    expect(outcomeOf(decisionEvents).type).toBe('success')
    expect(String(chat.messages.at(-1)?.content)).toContain('The till says')
    expect(gateway.readNewTillLines()).toEqual(['begun 21', 'done 21'])
    await eventually(async () => gateway.answersTo(objectId).find(text => text.includes('refunded:21')))
    expect(await gateway.readAction(agent)).toMatchObject({ status: 'accepted', resolver: 'operator eve' })
  },
)

test.each(tillAgents)(
  'a remembered approval in the operator’s chat runs later calls of %s for that person without asking (E-39)',
  async agent => {
    const { requirement } = await gateway.askForRefund(agent)
    const chat = openWaiting(requirement)
    expect(outcomeOf(await runChat(chat)).interrupts).toMatchObject([
      { responseSchema: { properties: { remember: { enum: ['once', 'conversation', 'always'] } } } },
    ])
    const invalidEvents = await runChat(chat, [approve(requirement.id, { remember: 'for ever' })])
    expect(findEvents(invalidEvents, 'CUSTOM')).toMatchObject([
      { value: 'Cannot decide: "remember" must be "once", "conversation" or "always"' },
    ])
    expect(outcomeOf(invalidEvents).type).toBe('interrupt')
    await runChat(chat, [approve(requirement.id, { remember: 'always' })])
    expect(gateway.readNewTillLines()).toEqual(['begun 17', 'done 17'])

    const { fediverse } = gateway.swarm.gateway.simulation
    const text = 'My money back, please'
    const { objectId } = await fediverse.deliver({ to: `@${agent}@agents.test`, text, visibility: 'direct' })
    await eventually(async () => gateway.answersTo(objectId).find(answer => answer.includes('refunded:17')))
    expect(gateway.readNewTillLines()).toEqual(['begun 17', 'done 17'])
    const path = `/agents/${agent}/approvals`
    const { items: approvals } = await gateway.swarm.requestOperator<{ items: readonly { id: string }[] }>(path)
    expect(approvals).toMatchObject([
      { resolver: 'operator eve', address: '@alice@mastodon.test', approver: 'operator' },
    ])
    const headers = { authorization: `Bearer ${operatorToken}` }
    const url = `${gateway.swarm.gateway.url()}/operator/api${path}/${approvals[0]?.id}`
    expect((await fetch(url, { method: 'DELETE', headers })).status).toBe(200)
    expect((await fetch(url, { method: 'DELETE', headers })).status).toBe(404)
    expect((await fetch(url, { method: 'DELETE' })).status).toBe(401)
    await gateway.decide((await gateway.askForRefund(agent)).requirement.id, { outcome: 'declined' })
  },
)

test('a run without a decision succeeds when nothing waits', async () => {
  const chat = openChat(chatUrl(), evesToken, 'approval:none-of-this-name')
  const events = await runChat(chat)
  expect(events.map(({ type }) => type)).not.toContain('RUN_ERROR')
  expect(outcomeOf(events).type).toBe('success')
})

test('the second of two operators learns who decided, and the call does not run twice', async () => {
  const { requirement } = await gateway.askForRefund('shop')
  const chats = [openWaiting(requirement), openWaiting(requirement, operatorToken)]
  for (const chat of chats) expect(outcomeOf(await runChat(chat)).type).toBe('interrupt')
  const runs = await Promise.allSettled(chats.map(chat => runChat(chat, [approve(requirement.id)])))
  const completedRuns = runs.flatMap(settledRun => (settledRun.status === 'fulfilled' ? [settledRun.value] : []))
  expect(completedRuns.map(events => outcomeOf(events).type).sort()).toEqual(['RUN_ERROR', 'success'])
  const event = completedRuns.find(events => outcomeOf(events).type === 'RUN_ERROR')?.at(-1)
  expect(event).toMatchObject({
    code: 'not_decided',
    message: expect.stringMatching(/^"Allow refund\?" is closed: granted by operator (eve|operator) at /),
  })
  expect(gateway.readNewTillLines()).toEqual(['begun 17', 'done 17'])
})

test('calls with the same id in several conversations have separate messages and results in the chat', async () => {
  const questions = [await gateway.askForRefund('shop'), await gateway.askForRefund('shop')]
  const chat = openChat(chatUrl('shop'), evesToken)
  const ids = (outcomeOf(await runChat(chat)).interrupts ?? []).map(({ id }) => id)
  expect(ids.length).toBeGreaterThanOrEqual(questions.length)
  for (const id of ids) await gateway.decide(id, { outcome: 'declined' })
  const events = await runChat(
    chat,
    ids.map(interruptId => ({ interruptId, status: 'cancelled' })),
  )
  const [{ messages = [] } = {}] = findEvents(events, 'MESSAGES_SNAPSHOT') as { messages?: { id: string }[] }[]
  const ends = messages.map(({ id }) => id).filter(id => id.endsWith('-end'))
  expect(ends.toSorted()).toEqual(ids.map(id => `approval-${id}-end`).toSorted())
})

test('an unclear answer, wrong arguments or an unknown id decide nothing, and the run does not look successful (C-25)', async () => {
  const { requirement } = await gateway.askForRefund('shop')
  const invalidDecisions = [
    [{ interruptId: requirement.id, status: 'resolved', payload: { editedArgs: { order: '5' } } }, 'is left open'],
    [approve(requirement.id, { editedArgs: { order: 5 } }), 'Cannot decide: the arguments are not those of "refund"'],
  ] as const
  const chat = openWaiting(requirement)
  await runChat(chat)
  for (const [entry, words] of invalidDecisions) {
    const events = await runChat(chat, [entry])
    expect(findEvents(events, 'CUSTOM')).toMatchObject([{ name: 'warning', value: expect.stringContaining(words) }])
    expect(outcomeOf(events).type).toBe('interrupt')
  }
  const otherChat = openChat(chatUrl('desk'), evesToken)
  await runChat(otherChat)
  for (const id of ['0'.repeat(32), requirement.id, 'x']) {
    const events = await runChat(openChat(chatUrl('desk'), evesToken), [approve(id)])
    expect(events.at(-1)).toMatchObject({ type: 'RUN_ERROR', message: 'an interrupt that is not open was not decided' })
  }
  expect(gateway.readNewTillLines()).toEqual([])
  // AG-UI: a person who continues without an answer has declined.
  const events = await runChat(chat, [{ interruptId: requirement.id, status: 'cancelled' }])
  expect(findEvents(events, 'TOOL_CALL_RESULT')).toMatchObject([{ content: 'It was not allowed.' }])
  expect(gateway.readNewTillLines()).toEqual([])
})

test('an operator’s run id names only one run, and nobody else can use one (E-43)', async () => {
  const postRun = (token: string | undefined, runId: string, path = '') =>
    fetch(chatUrl() + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) },
      body: JSON.stringify({ threadId: 'approvals', runId, messages: [] }),
    })
  const runId = newName('run')
  const [first, second] = [await postRun(evesToken, runId), await postRun(evesToken, runId)]
  await first.text()
  expect([first.status, second.status]).toEqual([200, 409])
  const refusal = await postRun(annsToken, newName('run'))
  expect([refusal.status, ((await refusal.json()) as { detail: string }).detail]).toEqual([
    403,
    'Cannot list approvals: only operators may see them',
  ])
  const unsigned = await postRun(undefined, newName('run'))
  expect([unsigned.status, ((await unsigned.json()) as { detail: string }).detail]).toEqual([
    401,
    'Cannot answer: a bearer token is needed',
  ])
})

test.each(tillAgents)(
  'a person who talks to %s in a chat has to wait, cannot decide, and learns the outcome (C-25)',
  async agent => {
    const chat = openChat(`${gateway.swarm.gateway.url()}/api/v1/agents/${agent}/runs`, annsToken)
    chat.addMessage({ id: newName('msg'), role: 'user', content: 'My money, please' })
    const events = await runChat(chat)
    const { type, interrupts = [] } = outcomeOf(events)
    const [interrupt] = interrupts
    expect([type, interrupt?.reason]).toEqual(['interrupt', 'postern:operator'])
    expect(JSON.stringify(interrupt)).not.toMatch(/actions\/|toolCallId|Give 20/)
    const id = String(interrupt?.id)

    const refusedEvents = await runChat(chat, [approve(id, { editedArgs: { order: '99' } })])
    expect(findEvents(refusedEvents, 'CUSTOM')).toMatchObject([{ value: 'an operator decides that' }])
    expect(outcomeOf(refusedEvents)).toMatchObject({
      type: 'interrupt',
      interrupts: [{ id, reason: 'postern:operator' }],
    })
    expect(gateway.readNewTillLines()).toEqual([])

    const waiting = await gateway.findWaiting(agent)
    expect(waiting.id).toBe(id)
    expect(outcomeOf(await runChat(openWaiting(waiting), [approve(id)])).type).toBe('success')
    expect(gateway.readNewTillLines()).toEqual(['begun 17', 'done 17'])
    expect(outcomeOf(await runChat(chat, [approve(id)])).type).toBe('success')
    expect(String(chat.messages.at(-1)?.content)).toContain('The till says')
  },
)

test('an agent’s question to a human also waits in the operator’s chat, where an answer closes it everywhere (W-26)', async () => {
  const { fediverse } = gateway.swarm.gateway.simulation
  const { objectId } = await fediverse.deliver({
    to: '@desk@agents.test',
    text: 'Let me talk to somebody',
    from: 'bob@mastodon.test',
    visibility: 'direct',
  })
  const listQuestions = () => gateway.swarm.requestOperator<{ items: readonly { readonly id: string }[] }>('/questions')
  const question = await eventually(async () => (await listQuestions()).items[0])
  const chat = openChat(chatUrl('desk'), evesToken, `question:${question.id}`)
  expect(outcomeOf(await runChat(chat))).toMatchObject({
    type: 'interrupt',
    interrupts: [
      {
        id: question.id,
        reason: 'input_required',
        responseSchema: { required: ['text'] },
        metadata: { agent: 'desk', member: 'human', address: '@bob@mastodon.test' },
      },
    ],
  })
  expect(String(chat.messages.at(-1)?.content)).toContain('Let me talk to somebody')
  const answer = (text: string) => [{ interruptId: question.id, status: 'resolved', payload: { text } }] as const
  const emptyAnswerEvents = await runChat(chat, answer(' '))
  expect(findEvents(emptyAnswerEvents, 'CUSTOM')).toMatchObject([
    { value: expect.stringContaining('a question stays open') },
  ])
  expect(outcomeOf(emptyAnswerEvents).type).toBe('interrupt')
  const otherEvents = await runChat(openChat(chatUrl('shop'), evesToken), answer('I am nobody’s'))
  expect(otherEvents.at(-1)).toMatchObject({
    type: 'RUN_ERROR',
    message: expect.stringContaining('a question is closed'),
  })

  expect(outcomeOf(await runChat(chat, answer('It is me, Eve.'))).type).toBe('success')
  await eventually(async () => gateway.answersTo(objectId).find(text => text.includes('It is me, Eve.')))
  expect((await listQuestions()).items).toEqual([])
  const lateEvents = await runChat(openChat(chatUrl('desk'), operatorToken), answer('And again'))
  expect(lateEvents.at(-1)).toMatchObject({
    type: 'RUN_ERROR',
    message: 'a question is closed: nobody waits for its answer any more',
  })
})
