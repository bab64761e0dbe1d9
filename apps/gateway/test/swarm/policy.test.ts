import { hash } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { SwarmGateway } from '../setup/swarm-gateway.ts'
import {
  annsToken,
  call,
  describeSwarm,
  nameOne,
  openSwarmChat,
  openSwarmGateway,
  replyWith,
} from '../setup/swarm-gateway.ts'

// These tests check that a swarm applies its output policy to everything that it sends to a person: answers, questions, results of calls, names of
// files.

let swarm: SwarmGateway
let callCount = 0

beforeAll(async () => {
  const auth = { tokens: [{ name: 'ann', sha256: hash('sha256', annsToken) }] }
  swarm = await openSwarmGateway(
    (_, lastText, { body }) => {
      callCount += 1
      if (body.messages.at(-1)?.role === 'tool') return replyWith('That was it.')
      const text = lastText.split('\n').at(-1) ?? ''
      const order = /refund (\w+)/.exec(text)?.[1]
      if (order !== undefined) return call('refund', { order })
      return text === 'photo' ? call('photo', {}) : replyWith(text)
    },
    { web: { enabled: true, trace: false, auth } },
  )
  const till = { prompt: 'I am till.', tools: '../agents/asking/till.ts', tool_policies: { refund: 'preview' } }
  const gallery = { prompt: 'I am gallery.', tools: '../agents/swarm/basket.ts' }
  const describe = (members: object, policy: object) => ({
    ...describeSwarm(swarm.model.baseUrl, members),
    default_agent: Object.keys(members)[0],
    policies: {
      // Each policy counts, whatever the others allow.
      hours: { refuse_output: ['midnight'], message: 'Not at night.' },
      secrets: { refuse_output: ['sesame', 'refunded', 'basket'], message: 'That I may not say.', ...policy },
    },
  })
  const agents = {
    desk: describe({ till }, {}),
    strict: describe({ till }, { bans: true }),
    gallery: describe({ gallery }, {}),
  }
  await swarm.gateway.restart({ agents })
})
afterAll(() => swarm.close())
beforeEach(() => {
  callCount = 0
})

const openChat = (agent: string) =>
  openSwarmChat(
    {
      get gateway() {
        return swarm.gateway
      },
    },
    agent,
  )

const listOpen = async () =>
  (await swarm.requestOperator<{ items: readonly { readonly id: string }[] }>('/requirements?state=open')).items

test('the gateway does not send a forbidden question: the person gets the policy’s text, and nothing waits', async () => {
  const { runChat } = openChat('desk')
  const text = await runChat(nameOne('thread'), 'refund sesame')
  expect(text).toContain('That I may not say.')
  expect(text).not.toMatch(/sesame|interrupt/)
  expect(await listOpen()).toEqual([])
  expect(await runChat(nameOne('thread'), 'refund quince')).toContain('Give 20.00 back for order quince?')
  expect(await listOpen()).toHaveLength(1)
})

test('the gateway mails no link to a forbidden question', async () => {
  const { mail } = swarm.gateway.simulation
  const receipt = await mail.deliver({ from: 'alice@alice.test', to: 'desk@agents.test', text: 'refund sesame' })
  const { text } = await mail.awaitReply(receipt.mail.messageId, 30_000)
  expect(text).toContain('That I may not say.')
  expect(text).not.toMatch(/actions\/|Give 20\.00/)
})

test('a person whom the policy bans gets only the ban text from then on, without a model call', async () => {
  const { runChat } = openChat('strict')
  expect(await runChat(nameOne('thread'), 'refund sesame')).toContain('That I may not say.')
  callCount = 0
  expect(await runChat(nameOne('thread'), 'good morning')).toContain('That I may not say.')
  expect(callCount).toBe(0)
})

test('the approver does not see a forbidden result, which the operator’s export contains', async () => {
  const { runChat, postJson } = openChat('desk')
  const threadId = nameOne('thread')
  const [, interruptId = ''] = /"interrupts":\[\{"id":"([^"]+)"/.exec(await runChat(threadId, 'refund apple')) ?? []
  const resume = [{ interruptId, status: 'resolved', payload: { approved: true } }]
  const response = await postJson('runs', { threadId, runId: nameOne('run'), messages: [], resume })
  const text = await response.text()
  expect(text).toContain('That was it.')
  expect(text).not.toContain('refunded')
  const [newest] = await swarm.gateway.messages()
  const query = new URLSearchParams({ format: 'swarm', thread: newest?.id ?? '' })
  expect(JSON.stringify(await swarm.requestOperator(`/transcript?${query}`))).toContain('refunded')
})

test('the answer omits a forbidden file name, and keeps the file', async () => {
  const text = await openChat('gallery').runChat(nameOne('thread'), 'photo')
  expect(text).toContain('"mime_type":"image/png"')
  expect(text).not.toContain('basket')
})
