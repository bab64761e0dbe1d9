import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { eventually, operatorToken } from '../setup/gateway.ts'
import type { SwarmGateway } from '../setup/swarm-gateway.ts'
import { call, describeSwarm, nameOne, openSwarmChat, openSwarmGateway, replyWith } from '../setup/swarm-gateway.ts'

// These tests check the rules of swarms for whole turns through the gateway: operators as members, bans, cancellation and rescue of bad answers.

let swarm: SwarmGateway
let modelInputs: string[] = []
/** The promises for which the model waits, keyed by the word of a message that makes it wait. */
const modelGates = new Map<string, PromiseWithResolvers<void>>()

beforeAll(async () => {
  const script: Parameters<typeof openSwarmGateway>[0] = async (memberName, lastText, { body }) => {
    const text = lastText.split('\n').at(-1) ?? ''
    modelInputs.push(text)
    const gate = [...modelGates].find(([word]) => text.includes(word))?.[1]
    await gate?.promise
    if (body.messages.at(-1)?.role === 'tool') return replyWith('Handed on.')
    if (text.includes('somebody')) return call('navigate_to_human', {})
    if (text.includes('markup')) return replyWith('<tool_call>{"name": "refund"}</tool_call>')
    if (text.includes('nothing')) return replyWith('')
    return replyWith(`${memberName} heard ${text}`)
  }
  const email = { listen: { port: 0, protocol: 'smtp' }, write_to: ['eve@alice.test'] }
  swarm = await openSwarmGateway(script, { email })
  const members = { human: { operator: true, timeout: '60s', mail: 'eve@alice.test' } }
  const policies = {
    manners: { refuse_input: ['\\brude\\b'], message: 'We are polite here.', bans: true },
    secrets: { refuse_output: ['sesame'], message: 'That I may not say.' },
  }
  const agentConfig = { ...describeSwarm(swarm.model.baseUrl, members), policies }
  const shortTimeoutAgent = describeSwarm(swarm.model.baseUrl, { human: { operator: true, timeout: '200ms' } })
  await swarm.gateway.restart({ agents: { desk: agentConfig, hasty: shortTimeoutAgent } })
})
afterAll(() => swarm.close())
beforeEach(() => {
  modelInputs = []
})

async function askByMail(
  text: string,
  { agent = 'desk', from = 'alice@alice.test' } = {},
): Promise<string | undefined> {
  const { mail } = swarm.gateway.simulation
  const receipt = await mail.deliver({ from, to: `${agent}@agents.test`, text })
  return (await mail.awaitReply(receipt.mail.messageId, 30_000)).text
}

async function askByMention(text: string, from: string): Promise<string> {
  const { fediverse } = swarm.gateway.simulation
  const { objectId } = await fediverse.deliver({ from, to: '@desk@agents.test', text })
  const { activity } = await fediverse.awaitReply(objectId, 30_000)
  return (activity.object as { content: string }).content
}

const { postJson, runChat } = openSwarmChat({
  get gateway() {
    return swarm.gateway
  },
})
const name = nameOne

/** Holds the model at this word. Returns a function that releases it. */
function holdModel(word: string): () => void {
  const heldCall = Promise.withResolvers<void>()
  modelGates.set(word, heldCall)
  return () => {
    modelGates.delete(word)
    heldCall.resolve()
  }
}

test('people never see an answer with markup, or an empty one, and get a placeholder instead (W-25)', async () => {
  for (const word of ['markup', 'nothing']) {
    const text = await askByMail(`Some ${word}`)
    expect(text).not.toMatch(/tool_call|[{}]/)
    expect(text).toMatch(/Could you|again|lost the thread/)
  }
})

test('a human gets a question by mail, and their mailed answer reaches the waiting person (W-26)', async () => {
  const pendingText = askByMail('May I speak to somebody?')
  const { mail } = swarm.gateway.simulation
  const questionMail = await eventually(async () =>
    mail.received.find(({ envelope }) => envelope.to.includes('eve@alice.test')),
  )
  expect(questionMail.text).toContain('@alice@alice.test asks human')
  expect(questionMail.text).toContain('May I speak to somebody?')
  const plan = {
    from: 'eve@alice.test',
    to: 'desk@agents.test',
    text: 'It is me, Eve.',
    inReplyTo: questionMail.messageId,
  }
  await mail.deliver(plan)
  expect(await pendingText).toContain('It is me, Eve.')
  expect((await swarm.requestOperator<{ items: readonly unknown[] }>('/questions')).items).toEqual([])
})

test('a question number that a sender forges does not redirect the answer (W-26)', async () => {
  const { mail } = swarm.gateway.simulation
  const text = 'May I speak to somebody else? (question 0123456789abcdef)'
  const pendingText = askByMail(text)
  const questionMail = await eventually(async () =>
    mail.received.find(message => message.text?.includes('0123456789abcdef')),
  )
  const plan = { from: 'eve@alice.test', to: 'desk@agents.test', text: 'Still Eve.', inReplyTo: questionMail.messageId }
  await mail.deliver(plan)
  expect(await pendingText).toContain('Still Eve.')
})

test('a person learns that nobody answered in time, and the list is empty (W-26)', async () => {
  expect(await askByMail('May I speak to somebody?', { agent: 'hasty' })).toContain(
    'Nobody is there to answer right now.',
  )
  await eventually(
    async () => (await swarm.requestOperator<{ items: readonly unknown[] }>('/questions')).items.length === 0,
  )
})

test('a banned person gets one sentence in every conversation, without a model call (W-27)', async () => {
  const rudePerson = 'alice@gotosocial.test'
  expect(await askByMention('You are rude', rudePerson)).toContain('We are polite here.')
  expect(await askByMention('Another conversation', rudePerson)).toContain('We are polite here.')
  expect(modelInputs).toEqual([])
  const { items: bans } = await swarm.requestOperator<{
    items: readonly { id: string; policy: string; subject: string }[]
  }>('/agents/desk/bans')
  expect(bans).toMatchObject([{ policy: 'manners', subject: expect.stringContaining('gotosocial.test/users/alice') }])
  const headers = { authorization: `Bearer ${operatorToken}` }
  const path = `${swarm.gateway.url()}/operator/api/agents/desk/bans/${bans[0]?.id}`
  expect((await fetch(path, { method: 'DELETE', headers })).status).toBe(200)
  expect((await fetch(path, { method: 'DELETE', headers })).status).toBe(404)
  expect(await askByMention('I am sorry', rudePerson)).toContain('triage heard')
  expect(await askByMention('Hello from another gateway', 'alice@mastodon.test')).toContain('triage heard')
})

test('the gateway lifts the ban of a forgotten person, names them in no ban, and keeps other bans', async () => {
  const [forgottenAddress, otherAddress] = ['bob@gotosocial.test', 'bob@snac.test']
  expect(await askByMention('You are rude', forgottenAddress)).toContain('We are polite here.')
  expect(await askByMention('You are rude', otherAddress)).toContain('We are polite here.')
  expect(await askByMail('You are rude', { from: 'bob@alice.test' })).toContain('We are polite here.')
  for (const address of ['@bob@gotosocial.test', 'bob@alice.test'])
    await swarm.requestOperator('/people/forget', { address })
  const { items: bans } = await swarm.requestOperator<{ items: readonly { subject: string }[] }>('/agents/desk/bans')
  expect(bans).toMatchObject([{ subject: expect.stringContaining('snac.test/') }])
  expect(await askByMention('Hello', forgottenAddress)).toContain('triage heard')
  expect(await askByMention('Hello', otherAddress)).toContain('We are polite here.')
})

test('the gateway does not send forbidden text (W-27)', async () => {
  expect(await askByMail('Open sesame')).toContain('That I may not say.')
})

test('two simultaneous messages get answers one after the other (W-28)', async () => {
  const threadId = name('thread')
  const countMessages = async () =>
    (await swarm.requestOperator<{ items: readonly unknown[] }>('/messages?limit=500')).items.length
  const countBefore = await countMessages()
  const releaseModel = holdModel('first words')
  const first = runChat(threadId, 'first words')
  await eventually(async () => modelInputs.length === 1)
  const second = runChat(threadId, 'second words')
  await eventually(async () => (await countMessages()) === countBefore + 2)
  // Turns start oldest first: once this one has ended, the second one was skipped.
  expect(await runChat(name('thread'), 'words elsewhere')).toContain('triage heard words elsewhere')
  expect(modelInputs).toEqual(['first words', 'words elsewhere'])
  releaseModel()
  expect(await first).toContain('triage heard first words')
  expect(await second).toContain('triage heard second words')
  expect(modelInputs).toEqual(['first words', 'words elsewhere', 'second words'])
  const { messages } = swarm.model.requests.at(-1)?.body ?? { messages: [] }
  expect(messages.slice(1).map(({ role }) => role)).toEqual(['user', 'assistant', 'user'])
})

test('nobody ever receives the answer of a stopped run (W-29)', async () => {
  const [threadId, runId] = [name('thread'), name('run')]
  const releaseModel = holdModel('slow words')
  const stopped = runChat(threadId, 'slow words', runId)
  await eventually(async () => modelInputs.length === 1)
  expect(await (await postJson(`runs/${runId}/cancel`, {})).json()).toEqual({ cancelled: true })
  expect(await stopped).toContain('"code":"cancelled"')
  releaseModel()
  const next = await runChat(threadId, 'further words')
  expect(next).toContain('triage heard further words')
  expect(next).not.toContain('heard slow words')
})
