import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Gateways } from './gateways.ts'
import { describeRecords, openGateways, settle } from './gateways.ts'

const courier = { use: '../agents/calling/courier.ts' }
let gateways: Gateways

beforeAll(async () => {
  gateways = await openGateways({
    'a.test': { agents: { one: courier } },
    'b.test': { agents: { two: courier }, email: { write_to: ['c.test'] } },
    'c.test': { agents: { three: courier } },
  })
})
afterAll(() => gateways.close())

test('a conversation of three agents crosses ActivityPub, A2A and email, and ends at the hop limit (MN-8.3, MN-8.2, MN-2.1)', async () => {
  const { simulation } = gateways
  const result = await simulation.send({
    via: 'activitypub',
    to: 'one',
    text: 'call:@two@b.test mail:@three@c.test Hello three.',
    timeoutMs: 60_000,
  })
  expect(result.reply?.text).toContain('one@a.test heard')
  expect(result.reply?.text).toContain('two@b.test heard one@a.test by a2a at hop 1 of 5, wrote to three@c.test')
  await settle(gateways, ['a.test', 'b.test', 'c.test'])
  expect(describeRecords(await gateways.records('c.test', 'three'))).toEqual([
    '@two@b.test email hop 2 answered from_agent',
    '@two@b.test email hop 4 answered from_agent',
    // The last answer of the chain is stored, shown to the operator, and sent to nobody.
    '@two@b.test email ignored from_agent hop_limit',
  ])
  expect(describeRecords(await gateways.records('b.test', 'two'))).toEqual([
    '@one@a.test a2a hop 1 answered',
    '@three@c.test email hop 3 answered from_agent',
    '@three@c.test email hop 5 answered from_agent',
  ])
  const lastRecord = (await gateways.records('b.test', 'two')).at(-1)
  expect(lastRecord?.message.recipient_capabilities.agent_chain).toEqual({ hop: 5, max_hops: 5, is_final: true })
  expect(lastRecord?.message.sender).toMatchObject({ verified: true, auth_method: 'email-dmarc' })
})

test('the dispatcher refuses a call on the final hop with an error that the agent can catch (MN-8.3)', async () => {
  const lastRecord = (await gateways.records('b.test', 'two')).at(-1)
  expect(lastRecord?.response?.parts).toMatchObject([
    {
      content:
        'two@b.test heard three@c.test by email at hop 5 of 5, forbidden: Cannot call agent: agent chain is longer than 5 hops',
    },
  ])
})

test('the operator sees the number of stopped messages', async () => {
  const metrics = await (await fetch(`${gateways.url('c.test')}/metrics`)).text()
  expect(metrics).toContain('postern_stopped_total{flag="hop_limit"} 1')
})

test('the answer to a mail returns to its thread', async () => {
  const [, first, second] = await gateways.records('b.test', 'two')
  expect(first?.thread).toBe(second?.thread)
  const sentMail = gateways.simulation.mail.received.find(mail => mail.envelope.to.includes('three@c.test'))
  expect(sentMail?.headers.get('auto-submitted')).toEqual(['auto-generated'])
  expect(sentMail?.headers.get('subject')).toEqual(['An errand'])
  expect(first?.message.in_reply_to).toBe(sentMail?.messageId)
})
