import type { NormalizedMessage } from '@postern/message'
import type { Agent } from '@postern/pipeline'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { MailGateway } from '../setup/gateway.ts'
import { mailDomain, openMailGateway } from '../setup/gateway.ts'

const alice = 'Alice <alice@alice.test>'
const receivedMessages: NormalizedMessage[] = []

/** Returns an agent that answers and calls in another agent. */
const createCallingAgent = (otherAgent: string, text: string): Agent => ({
  handle(message) {
    receivedMessages.push(message)
    return {
      parts: [{ kind: 'text', mime: 'text/markdown', content: text }],
      mentions: [`@${otherAgent}@${mailDomain}`],
    }
  },
})

let gateway: MailGateway
beforeAll(async () => {
  const agents = { echo: createCallingAgent('helper', 'Ask helper.'), helper: createCallingAgent('echo', 'Ask echo.') }
  gateway = await openMailGateway({ runsAgents: true, agents })
})
afterAll(() => gateway.close())

const listDeliveries = async () => (await gateway.store.listDeliveries({ limit: 100 })).toReversed()

test('a mentioned local agent is in Cc and gets the answer without a mail, to the end of the chain (EM-4.8)', async () => {
  const { mail } = await gateway.postMail({ from: alice, text: 'Who knows?' })
  const reply = await gateway.simulation.mail.awaitReply(mail.messageId, 30_000)
  expect(reply.headers.get('cc')).toEqual([`helper@${mailDomain}`])
  // Five agents pass the message on: echo, helper, echo, helper and echo. The last helper only receives it.
  await expect.poll(() => receivedMessages.length).toBe(6)
  // The last agent gets its message before its own answer has deliveries.
  const sentStates = Array(11).fill('sent')
  await expect.poll(async () => (await listDeliveries()).map(({ state }) => state)).toEqual(sentStates)
  expect(receivedMessages.map(({ recipient }) => recipient.slice(1).split('@')[0])).toEqual([
    'echo',
    'helper',
    'echo',
    'helper',
    'echo',
    'helper',
  ])
  expect(receivedMessages.map(({ recipient_capabilities }) => recipient_capabilities.agent_chain?.hop)).toEqual([
    undefined,
    1,
    2,
    3,
    4,
    5,
  ])
  expect(receivedMessages.map(({ recipient_capabilities }) => recipient_capabilities.agent_chain?.is_final)).toEqual([
    undefined,
    false,
    false,
    false,
    false,
    true,
  ])
  const deliveries = await listDeliveries()
  expect(deliveries.filter(({ to }) => to === 'alice@alice.test')).toHaveLength(6)
  expect(deliveries.filter(({ to }) => to.endsWith(`@${mailDomain}`))).toHaveLength(5)
  const mailedRecipients = gateway.simulation.mail.received.flatMap(({ envelope }) => envelope.to)
  expect(mailedRecipients.filter(to => to.endsWith(`@${mailDomain}`))).toEqual([])
})

test('a mentioned local agent gets the answer and its question, with the gateway’s own proof', async () => {
  const [, messageToHelper] = receivedMessages
  const keyId = `d=${mailDomain}/s=postern`
  expect(messageToHelper?.sender).toEqual({
    address: `@echo@${mailDomain}`,
    display_name: 'Echo the Agent',
    auth_method: 'email-dkim',
    verified: true,
    key_id: keyId,
    identities: [
      expect.objectContaining({
        subject: `mailto:echo@${mailDomain}`,
        issuer: mailDomain,
        audience: `@helper@${mailDomain}`,
        proof: { type: 'transport', verified_by: 'email-dkim', key_id: keyId },
      }),
    ],
  })
  const record = await gateway.store.findMessage(messageToHelper?.id ?? '')
  expect(record).toMatchObject({
    flags: ['sibling', 'from_agent'],
    proofs: [{ kind: 'dkim', verdict: 'pass', key_id: keyId }],
  })
  const text = messageToHelper?.parts.map(part => (part.kind === 'text' ? part.content : '')).join('\n')
  expect(text).toMatch(/^Ask helper\.\nOn .*2\d{3}.*, Alice wrote:\n> Who knows\?$/)
  const [, , thirdDelivery] = await listDeliveries()
  expect(thirdDelivery?.wire).toMatchObject({
    from: { address: `helper@${mailDomain}` },
    to: { address: 'alice@alice.test' },
  })
})

test('a mentioned local agent shares the people’s thread, which alice’s next mail to it continues', async () => {
  const lastMessage = receivedMessages.at(-1)
  const { mail } = await gateway.postMail({
    from: alice,
    to: `helper@${mailDomain}`,
    references: [lastMessage?.id ?? ''],
  })
  await expect.poll(() => receivedMessages.some(({ id }) => id === mail.messageId)).toBe(true)
  expect(receivedMessages.find(({ id }) => id === mail.messageId)?.history?.length).toBeGreaterThanOrEqual(2)
})

test('a mail to a local agent has a signature that a foreign verifier accepts', async () => {
  const { dkimVerify } = await import('mailauth/lib/dkim/verify.js')
  const record = await gateway.store.findMessage(receivedMessages[1]?.id ?? '')
  const keys = ((await gateway.channel.keys?.list()) ?? []).flatMap(({ dns }) =>
    dns ? [[dns.name, dns.value] as const] : [],
  )
  const resolver = async (name: string) => [[new Map(keys).get(name) ?? '']]
  const { results } = await dkimVerify(Buffer.from(record?.message.raw as string), { resolver })
  expect(results.map(({ status }) => status.result)).toEqual(['pass', 'pass'])
})
