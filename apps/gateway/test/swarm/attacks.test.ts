import { drawDelays } from '@postern/testing/scale'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { eventually, gatewayOrigin } from '../setup/gateway.ts'
import type { OperatorGateway } from '../setup/operator-gateway.ts'
import { evesToken, openChat, openOperatorGateway, runChat } from '../setup/operator-gateway.ts'
import type { SwarmGateway } from '../setup/swarm-gateway.ts'
import { call, describeSwarm, nameOne, openSwarmChat, openSwarmGateway, replyWith } from '../setup/swarm-gateway.ts'

// These tests let a swarm do everything at once, go in circles, or stop in the middle.

/** The model's answers to these words, for this member alone. */
const moves: readonly (readonly [
  word: string,
  member: string | undefined,
  (member: string) => ReturnType<typeof replyWith>,
])[] = [
  ['circle', undefined, member => call(member === 'triage' ? 'navigate_to_refunds' : 'navigate_to_triage', {})],
  ['nowhere', undefined, () => call('navigate_to_constructor', {})],
  ['over', 'triage', () => call('navigate_to_refunds', {})],
  ['secret', undefined, () => replyWith('The word is sesame.')],
]

describe('hand-overs', () => {
  let swarm: SwarmGateway
  let queries: string[] = []
  let pendingRelease: PromiseWithResolvers<void> | undefined

  beforeAll(async () => {
    swarm = await openSwarmGateway(async (member, _, { body }) => {
      queries.push(member)
      const userText = body.messages.findLast(({ role }) => role === 'user')
      const text = String(userText?.content).split('\n').at(-1) ?? ''
      if (text.includes('held') && member === 'refunds') await pendingRelease?.promise
      const move = moves.find(([word, from]) => text.includes(word) && (from === undefined || from === member))
      if (move) return move[2](member)
      return replyWith(`${member} heard ${text}`)
    })
    const policies = { secrets: { refuse_output: ['sesame'], message: 'That I may not say.', bans: true } }
    const open = describeSwarm(swarm.model.baseUrl)
    await swarm.gateway.restart({ agents: { desk: open, strict: { ...open, policies, people: { link: true } } } })
  })
  afterAll(() => swarm.close())
  beforeEach(() => {
    queries = []
    pendingRelease = undefined
  })

  const openChatWith = (agent: string) =>
    openSwarmChat(
      {
        get gateway() {
          return swarm.gateway
        },
      },
      agent,
    )
  const activeIn = (text: string) =>
    /.*"activeAgent","value":"(\w+)"|.*"activeAgent":"(\w+)"/.exec(text)?.slice(1).find(Boolean)
  const { runChat } = openChatWith('desk')

  test('within one message stop before a circle closes, with one answer, and may go on in the next message (W-19)', async () => {
    const thread = nameOne('thread')
    const text = await runChat(thread, 'round in a circle')
    expect(text).toContain('Please repeat what you would like.')
    expect(text.match(/TEXT_MESSAGE_START/g)).toHaveLength(1)
    expect(queries).toEqual(['triage', 'refunds', 'triage'])
    queries = []
    expect(await runChat(thread, 'hand it over')).toContain('refunds heard hand it over')
    expect(queries).toEqual(['triage', 'refunds'])
  })

  test('never reach an unknown agent, even by the name of an inherited member (W-18)', async () => {
    const thread = nameOne('thread')
    const text = await runChat(thread, 'to nowhere')
    expect(text).toMatch(/Could you|again|lost the thread/)
    expect(text).not.toContain('constructor')
    expect(await runChat(thread, 'who is it')).toContain('triage heard who is it')
  })

  test('keep one answer for each of several simultaneous messages, by the active agent', async () => {
    const thread = nameOne('thread')
    const texts = ['one', 'hand over', 'two', 'three', 'over again']
    const reportedTexts = await Promise.all(texts.map(word => runChat(thread, word)))
    const eventPairs = reportedTexts.map(event =>
      [...event.matchAll(/"delta":"(?:triage|refunds) heard ([\w ]+)"/g)].map(([, words]) => words),
    )
    expect(eventPairs).toEqual(texts.map(word => [word]))
    expect(await runChat(thread, 'who is it')).toContain('refunds heard who is it')
  })

  test('take effect once if the gateway stops within one, and the message gets one answer', async () => {
    const thread = nameOne('thread')
    pendingRelease = Promise.withResolvers()
    const release = pendingRelease
    const firstRun = runChat(thread, 'held over').catch(() => '')
    await eventually(async () => queries.includes('refunds'))
    const stopped = swarm.gateway.restart()
    release.resolve()
    await Promise.all([firstRun, stopped])
    pendingRelease = undefined
    const [newest] = await swarm.gateway.messages()
    const { response } = await eventually(async () => {
      const record = (await swarm.gateway.readMessage(`#${newest?.message}`)) as { response?: object }
      return record.response && record
    })
    expect(JSON.stringify(response)).toContain('refunds heard held over')
    const query = new URLSearchParams({ format: 'swarm', thread: `#${newest?.message}` })
    const { messages } = await swarm.requestOperator<{ messages: readonly { tool_calls?: readonly object[] }[] }>(
      `/transcript?${query}`,
    )
    expect(messages.filter(({ tool_calls }) => tool_calls)).toHaveLength(1)
    expect(activeIn(await runChat(thread, 'who is it'))).toBe('refunds')
  })

  test('of a banned person get one fixed sentence, without a model call', async () => {
    const strict = openChatWith('strict')
    const thread = nameOne('thread')
    const text = await strict.runChat(thread, 'hand the secret over')
    expect(text).toContain('That I may not say.')
    expect(text).not.toContain('sesame')
    queries = []
    for (const threadName of [thread, nameOne('thread')]) {
      expect(await strict.runChat(threadName, 'good morning')).toContain('That I may not say.')
    }
    expect(queries).toEqual([])
  })

  test('of a banned person who says "forget me" keep the ban, until the operator forgets the person', async () => {
    const strict = openChatWith('strict')
    await strict.runChat(nameOne('thread'), 'hand the secret over')
    expect(await strict.runChat(nameOne('thread'), 'forget me')).toContain('Done: what you wrote to me')
    expect(await strict.runChat(nameOne('thread'), 'good morning')).toContain('That I may not say.')
    const { items } = await swarm.requestOperator<{ items: readonly { subject: string }[] }>('/agents/strict/bans')
    expect(items.map(({ subject }) => subject)).toEqual([expect.stringMatching(/^hmac:/)])
    await swarm.requestOperator('/owners/forget', { owner: `web:${JSON.stringify([gatewayOrigin, 'ann'])}` })
    expect(await strict.runChat(nameOne('thread'), 'good morning')).toContain('triage heard good morning')
  })
})

describe('an operator’s decision', () => {
  let gateway: OperatorGateway
  beforeAll(async () => {
    gateway = await openOperatorGateway()
  })
  afterAll(() => gateway.close())
  beforeEach(() => void gateway.readNewTillLines())

  test('counts once if two operators decide at once, and the tool runs once', async () => {
    const { requirement } = await gateway.askForRefund('desk')
    const url = `${gateway.swarm.gateway.url()}/api/v1/operator/runs`
    const chats = [1, 2].map(() => openChat(url, evesToken, `approval:${requirement.id}`))
    for (const chat of chats) await runChat(chat)
    const yes = [{ interruptId: requirement.id, status: 'resolved', payload: { approved: true } }] as const
    const [words] = await Promise.all([
      Promise.all([1, 2, 3].map(() => gateway.decide(requirement.id, { outcome: 'granted' }))),
      ...chats.map(chat => runChat(chat, yes).catch(() => [])),
    ])
    expect(words.filter(({ status }) => status === 200).length).toBeLessThanOrEqual(1)
    await eventually(async () => (await gateway.readAction('desk')).resolution_result)
    expect(gateway.readNewTillLines()).toEqual(['begun 17', 'done 17'])
  })

  test('at the deadline either counts or comes too late, never both', async () => {
    const ms = 5_000
    await gateway.swarm.gateway.restart({ requirements: { expires_after_hours: ms / 3_600_000 } })
    // The delays range from 30 ms before the time limit to 30 ms after it.
    const delays = drawDelays({ quick: 2, long: 5, lastMs: 60 })
    for (const [index, delayMs] of delays.entries()) {
      const { objectId, requirement } = await gateway.askForRefund(index % 2 === 0 ? 'desk' : 'shop')
      const { expires_at } = await gateway.swarm.requestOperator<{ readonly expires_at: string }>(
        `/requirements/${requirement.id}`,
      )
      await eventually(async () => Date.now() >= Date.parse(expires_at) - 30 + delayMs)
      const word = await gateway.decide(requirement.id, { outcome: 'granted' })
      const isTaken = word.status === 200
      const expectedText = isTaken ? 'refunded:17' : 'Nobody allowed it in time.'
      await eventually(async () => gateway.answersTo(objectId).some(answer => answer.includes(expectedText)))
      expect(gateway.readNewTillLines()).toEqual(isTaken ? ['begun 17', 'done 17'] : [])
      expect(gateway.answersTo(objectId)).toHaveLength(2)
      const { state } = await gateway.swarm.requestOperator<{ readonly state: string }>(
        `/requirements/${requirement.id}`,
      )
      expect(state).toBe(isTaken ? 'granted' : 'expired')
    }
  })
})
