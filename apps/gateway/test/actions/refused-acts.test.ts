import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually } from '../setup/gateway.ts'
import type { WebGateway } from '../setup/web-gateway.ts'
import { findEvent, openWebGateway, uniqueName } from '../setup/web-gateway.ts'
import { askWhy, listFacts } from '../why/ask-why.ts'

// These tests check that both the agent and the operator learn of an act that cannot be done.

let web: WebGateway
beforeAll(async () => {
  const actor = { use: '../agents/chat/actor.ts' }
  const email = { listen: { port: 0, protocol: 'smtp' }, write_to: ['example.org', 'alice.test'] }
  const agents = { actor, alone: { ...actor, isolate: true }, unasked: { use: '../agents/chat/unasked.ts' } }
  web = await openWebGateway({}, { agents, default_agent: 'actor', email })
})
afterAll(() => web.close())

interface ActionRequest {
  readonly agent: string
  readonly act: string
  readonly args: readonly unknown[]
}

/** Has an agent act. Returns its reply, and the operator's record of the act. */
async function performAct({
  agent,
  ...action
}: ActionRequest): Promise<{ readonly answerText: string; readonly facts: string }> {
  const id = uniqueName('msg')
  const messages = [{ id, role: 'user', content: JSON.stringify(action) }]
  const body = { threadId: uniqueName('thread'), runId: uniqueName('run'), protocolVersion: '1.0', messages }
  const runResponse = await web.requestAs(`/api/v1/agents/${agent}/runs`, {
    method: 'POST',
    body: JSON.stringify(body),
  })
  const events = (await runResponse.text())
    .split('\n\n')
    .flatMap(line => (line.startsWith('data: ') ? [JSON.parse(line.slice(6))] : []))
  const { explanations } = await askWhy(web.gateway, id)
  const [first] = explanations
  return { answerText: findEvent(events, 'TEXT_MESSAGE_CONTENT')?.delta ?? '', facts: first ? listFacts(first) : '' }
}

const bob = { via: 'email', mentions: ['@bob@elsewhere.example'], subject: 'News' }

/** Acts that the gateway refuses, with the code and the text of each refusal. */
const refusals: readonly (readonly [act: string, args: readonly unknown[], code: string, words: RegExp])[] = [
  ['post', ['Hello Bob', bob], 'forbidden', /"@bob@elsewhere.example": .*email\.write_to$/],
  ['post', ['Hello', { via: 'email' }], 'no_recipient', /it names nobody/],
  ['post', ['Hello', { via: 'email', mentions: ['nobody'] }], 'malformed', /it is no address of a mailbox/],
  ['post', ['Hello', { via: 'web' }], 'unsupported', /^Cannot post by web/],
  ['post', ['Hello', { via: 'sms' }], 'unsupported', /^Cannot post by sms: there is no such channel/],
  ['post', ['Hello', { visibility: 'direct' }], 'no_recipient', /it names nobody who may be called/],
  ['post', [' \n'], 'malformed', /it has no words/],
  ['edit', ['r1', 'new'], 'no_recipient', /^Cannot edit "r1"/],
  ['delete', ['r1'], 'no_recipient', /^Cannot delete "r1"/],
  ['react', ['like', 'm1'], 'no_recipient', /^Cannot like "m1"/],
]

describe.each(['actor', 'alone'])('an action of the agent "%s" that is not possible', agent => {
  test.each(refusals)('gets a refusal with a reason that why also shows: %s %j', async (name, args, code, pattern) => {
    const { answerText, facts } = await performAct({ agent, act: name, args })
    expect(JSON.parse(answerText)).toMatchObject({ refused: true, code, message: expect.stringMatching(pattern) })
    expect(facts).toContain(JSON.parse(answerText).message)
    expect(facts).toMatch(/an act of the agent was refused \((post|edit|delete|like), /)
  })

  test('names the channel if it has no reactions', async () => {
    const { answerText, facts } = await performAct({ agent, act: 'react', args: ['like'] })
    expect(JSON.parse(answerText)).toMatchObject({
      refused: true,
      message: expect.stringMatching(/^Cannot like by web: /),
    })
    expect(facts).toContain('Cannot like by web')
  })
})

test('an agent that acts outside a turn gets the same refusals, and the operator can list them', async () => {
  for (const [name, args, code, words] of refusals) {
    const { answerText } = await performAct({ agent: 'unasked', act: name, args })
    const { refused: isRefused, message, ...refusal } = JSON.parse(answerText)
    expect([isRefused, refusal.code, message]).toEqual([true, code, expect.stringMatching(words)])
    const { items } = await web.gateway.requestOperator<{ items: readonly { reason: string }[] }>(
      '/refusals?agent=unasked',
    )
    expect(items.map(({ reason }) => reason)).toContain(message)
  }
  const { explanations } = await askWhy(web.gateway, '@unasked@agents.test')
  expect(JSON.stringify(explanations)).toMatch(/act_refused.*email\.write_to/)
  expect(JSON.stringify(web.gateway.simulation.mail.received)).not.toContain('elsewhere.example')
})

test('a mail to several people goes only to allowed addresses, and why names the others', async () => {
  const mentions = ['@bob@elsewhere.example', '@ann@alice.test']
  const { answerText, facts } = await performAct({
    agent: 'actor',
    act: 'post',
    args: ['Hello all', { via: 'email', mentions }],
  })
  expect(JSON.parse(answerText)).toMatch(/^[0-9a-f]{32}$/)
  expect(facts).toContain('"@bob@elsewhere.example"')
  await eventually(async () => web.gateway.simulation.mail.received.some(({ text }) => text?.includes('Hello all')))
})
