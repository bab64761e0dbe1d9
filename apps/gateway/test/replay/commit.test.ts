import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openEvents } from '../operator/read-events.ts'
import type { TestGateway } from '../setup/gateway.ts'
import { eventually, operatorToken } from '../setup/gateway.ts'
import type { WebGateway } from '../setup/web-gateway.ts'
import { openWebGateway } from '../setup/web-gateway.ts'
import { awaitReason, expectWellFormed } from '../why/ask-why.ts'
import { replayOne } from './replay-gateway.ts'

// These tests check that a replay with `--commit` answers those who had no answer, and nobody twice.

const plain = { use: '../agents/replayed/plain.ts' }
const broken = { use: '../agents/replayed/broken.ts' }
const changedAgent = { use: '../agents/replayed/edited-plain.ts', commit: true }
const answeredBefore = { kind: 'nothing', reason: 'an earlier replay has answered the message' }

let web: WebGateway
let gateway: TestGateway

beforeAll(async () => {
  web = await openWebGateway({}, { agents: { desk: plain, chat: plain, broken }, default_agent: 'chat' })
  gateway = web.gateway
})
afterAll(() => web.close())

async function mailUnanswered(text = 'say nothing'): Promise<string> {
  const { mail } = await gateway.simulation.mail.deliver({ to: 'desk@agents.test', text })
  await eventually(async () => (await gateway.readMessage(mail.messageId)).state === 'ignored')
  return mail.messageId
}

const listReplies = (id: string) => gateway.simulation.mail.received.filter(({ inReplyTo }) => inReplyTo === id)

/** Waits until no delivery is in progress. */
async function awaitDeliveries(): Promise<void> {
  await eventually(async () => (await gateway.deliveries()).every(({ state }) => state === 'sent'))
}

describe('replay --commit for a mail', () => {
  test('without an answer delivers the new one in the thread, once, dated today', async () => {
    const id = await mailUnanswered()
    const earliestMs = Date.now() - 1_000
    const { json } = await replayOne(gateway, id, changedAgent)
    expect(json).toMatchObject({ outcome: 'changed', proofs: [], normalized: [], queued: { kind: 'answer' } })
    const reply = await gateway.simulation.mail.awaitReply(id, 30_000)
    expect(reply).toMatchObject({ inReplyTo: id, references: [id], text: expect.stringContaining('In other words') })
    expect(reply.envelope.to).toEqual(['alice@alice.test'])
    expect(Date.parse(reply.headers.get('date')?.[0] ?? '')).toBeGreaterThanOrEqual(earliestMs)
    expect((await replayOne(gateway, id, changedAgent)).json.queued).toEqual(answeredBefore)
    await awaitDeliveries()
    expect(listReplies(id)).toHaveLength(1)
  })

  test('continues its thread, so that a reply of the sender joins the same conversation', async () => {
    const id = await mailUnanswered()
    await replayOne(gateway, id, changedAgent)
    const { messageId = '' } = await gateway.simulation.mail.awaitReply(id, 30_000)
    const next = await gateway.simulation.mail.deliver({ to: 'desk@agents.test', text: 'thanks', inReplyTo: messageId })
    const followed = await eventually(async () => {
      const record = await gateway.readMessage(next.mail.messageId).catch(() => undefined)
      return record?.state === 'answered' && record
    })
    expect(followed.thread).toBe((await gateway.readMessage(id)).thread)
    expect(JSON.stringify(followed.response?.parts)).toContain('6 characters after 2 turns')
  })

  test('sends one answer for several simultaneous commands', async () => {
    const id = await mailUnanswered()
    const results = await Promise.all([1, 2, 3, 4].map(() => replayOne(gateway, id, changedAgent)))
    expect(results.map(({ status }) => status)).toEqual([200, 200, 200, 200])
    expect(results.map(({ json }) => json.queued?.kind)).toContain('answer')
    await gateway.simulation.mail.awaitReply(id, 30_000)
    await awaitDeliveries()
    expect(listReplies(id)).toHaveLength(1)
  })

  test('with an answer sends nothing, because nobody can change a mail', async () => {
    const { mail } = await gateway.simulation.mail.deliver({ to: 'desk@agents.test', text: 'hello' })
    await gateway.simulation.mail.awaitReply(mail.messageId, 30_000)
    const { json } = await replayOne(gateway, mail.messageId, changedAgent)
    expect(json.queued).toEqual({ kind: 'nothing', reason: 'an answer by email cannot be changed once it is sent' })
    await awaitDeliveries()
    expect(listReplies(mail.messageId)).toHaveLength(1)
  })

  test('keeps an earlier answer, also after a restart', async () => {
    const id = await mailUnanswered()
    await replayOne(gateway, id, changedAgent)
    await gateway.simulation.mail.awaitReply(id, 30_000)
    await gateway.restart()
    expect((await replayOne(gateway, id, changedAgent)).json).toMatchObject({ proofs: [], queued: answeredBefore })
    await awaitDeliveries()
    expect(listReplies(id)).toHaveLength(1)
  })
})

describe('replay --commit --again', () => {
  const answerAgain = { ...changedAgent, again: true }

  test('sends another mail if the delivery of the answer has failed, once', async () => {
    const { mail } = await gateway.simulation.mail.deliver({ to: 'broken@agents.test', text: 'seventeen' })
    const id = mail.messageId
    await eventually(async () => listReplies(id).length === 1)
    const hint = 'an answer by email cannot be changed once it is sent; --again sends another one'
    expect((await replayOne(gateway, id, changedAgent)).json.queued).toEqual({ kind: 'nothing', reason: hint })
    expect((await replayOne(gateway, id, answerAgain)).json.queued).toMatchObject({ kind: 'answer' })
    const replies = await eventually(async () => listReplies(id).length === 2 && listReplies(id))
    expect(replies[1]?.text).toContain('In other words')
    await awaitReason(gateway, id, 'answered_by_replay')
    expect((await replayOne(gateway, id, answerAgain)).json.queued).toEqual(answeredBefore)
    await awaitDeliveries()
    expect(listReplies(id)).toHaveLength(2)
  })

  test('sends another post if the delivery of the answer has failed, beside the first one', async () => {
    const { objectId } = await gateway.simulation.fediverse.deliver({ to: '@broken@agents.test', text: 'seventeen' })
    const id = `${objectId}/activity`
    await eventually(async () => (await gateway.readMessage(id)).state === 'failed')
    const responseBefore = (await gateway.readMessage(id)).response
    expect((await replayOne(gateway, id, answerAgain)).json.queued).toMatchObject({ kind: 'answer' })
    const isHeard = () => JSON.stringify(gateway.simulation.fediverse.received).includes('In other words')
    await eventually(async () => isHeard())
    expect((await gateway.readMessage(id)).response).toEqual(responseBefore)
  })

  test('keeps an answer that has not failed, and the answer to a call', async () => {
    const { mail } = await gateway.simulation.mail.deliver({ to: 'desk@agents.test', text: 'hello' })
    await eventually(async () => (await gateway.readMessage(mail.messageId)).state === 'answered')
    expect((await replayOne(gateway, mail.messageId, answerAgain)).json.queued).toEqual({
      kind: 'nothing',
      reason: 'the recorded answer has not failed',
    })
    const { id } = await gateway.simulation.send({ via: 'a2a', to: 'broken', text: 'seventeen' })
    expect((await replayOne(gateway, id, answerAgain)).json.queued).toEqual({
      kind: 'nothing',
      reason: 'the call has ended with its answer',
    })
  })
})

describe('replay --commit for a chat message', () => {
  test('without an answer adds the new one to the history once, and live readers receive it', async () => {
    const [threadId, id] = ['quiet', 'quiet-1']
    await web.runChat('say nothing', { threadId, id })
    const events = await openEvents(gateway.url(), { token: operatorToken, query: '?channel=web' })
    const { json } = await replayOne(gateway, id, changedAgent)
    expect(json.queued).toMatchObject({ kind: 'answer' })
    const shownRows = [
      { id, role: 'user', content: 'say nothing' },
      { id: json.queued?.response, role: 'assistant', content: 'In other words' },
    ]
    expect(await web.readHistory(threadId)).toMatchObject(shownRows)
    await events.next(
      ({ data }) => JSON.stringify(data).includes(json.queued?.response ?? 'none') || data.via === 'web',
    )
    events.close()
    expect((await replayOne(gateway, id, changedAgent)).json.queued).toEqual(answeredBefore)
    expect(await web.readHistory(threadId)).toHaveLength(2)
    const sentEvents = await web.runChat('and now?', { threadId })
    expect(JSON.stringify(sentEvents)).toContain('8 characters after 2 turns')
  })

  test('with an answer keeps the history unchanged', async () => {
    const threadId = 'loud'
    await web.runChat('hello', { threadId, id: 'loud-1' })
    const historyBefore = await web.readHistory(threadId)
    const { json } = await replayOne(gateway, 'loud-1', changedAgent)
    expect(json.queued).toEqual({ kind: 'nothing', reason: 'an answer by web cannot be changed once it is sent' })
    expect(await web.readHistory(threadId)).toEqual(historyBefore)
  })
})

test('why and the lists show that a replay has answered, and where', async () => {
  const id = await mailUnanswered()
  const { number } = await gateway.readMessage(id)
  expect((await awaitReason(gateway, id, 'agent_silent')).message).toBe(number)
  await replayOne(gateway, id, changedAgent)
  await gateway.simulation.mail.awaitReply(id, 30_000)
  const reason = await awaitReason(gateway, id, 'answered_by_replay')
  expect(reason.sentence).toMatch(/^Answered at [\d :-]+ UTC by a replay that an operator committed$/)
  expectWellFormed(reason)
  const { outcomes } = await gateway.requestOperator<{ outcomes: { code: string }[] }>(`/outcomes?messages=${number}`)
  expect(outcomes.map(({ code }) => code)).toEqual(['answered_by_replay'])
  const answer = reason.fix?.command?.split(' ').at(-1) ?? ''
  expect((await awaitReason(gateway, answer, 'answered')).sentence).toMatch(/to alice@alice\.test$/)
})
