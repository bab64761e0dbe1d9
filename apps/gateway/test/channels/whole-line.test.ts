import { normalizedMessageSchema } from '@postern/message'
import type { MessageRecord } from '@postern/pipeline'
import type { SendResult } from '@postern/simulation'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { TestGateway } from '../setup/gateway.ts'
import { eventually, openTestGateway } from '../setup/gateway.ts'

let gateway: TestGateway

beforeAll(async () => {
  gateway = await openTestGateway()
})
afterAll(() => gateway.close())

interface Expectation {
  readonly via: 'activitypub' | 'a2a' | 'email'
  readonly sender: string
  readonly method: string
  readonly evidence: { readonly method: string; readonly assurance: string }
  readonly relay: string
  readonly proofs: readonly string[]
}

const expectations: readonly Expectation[] = [
  {
    via: 'activitypub',
    sender: '@alice@mastodon.test',
    method: 'ap-http-signature',
    evidence: { method: 'urn:mentionable:auth:ap-http-signature:v0.1', assurance: 'address' },
    relay: 'addressing',
    proofs: ['http-signature', 'digest'],
  },
  {
    via: 'a2a',
    sender: 'issuer.test',
    method: 'a2a-',
    evidence: { method: 'urn:mentionable:auth:a2a-', assurance: 'oauth' },
    relay: 'none',
    proofs: ['jwt'],
  },
  {
    via: 'email',
    sender: '@alice@alice.test',
    method: 'email-dmarc',
    evidence: { method: 'urn:mentionable:auth:email-dmarc:v0.1', assurance: 'address' },
    relay: 'recipient-field',
    proofs: ['dkim', 'spf', 'dmarc'],
  },
]

async function showSettled(id: string): Promise<MessageRecord> {
  return eventually(async () => {
    const record = await gateway.readMessage(id)
    return record.deliveries.length > 0 && record.deliveries.every(({ state }) => state === 'sent') && record
  })
}

describe.each(expectations)('a message by $via', ({ via, sender, method, evidence, relay, proofs }) => {
  let first: SendResult
  let second: SendResult
  let record: MessageRecord

  beforeAll(async () => {
    first = await gateway.simulation.send({ via, to: 'echo', text: 'hello from outside' })
    second = await gateway.simulation.send({ via, to: 'echo', text: 'and again', thread: first.thread })
    record = await showSettled(first.id)
  })

  test('gets an answer with its text, the sender and the proof (MN-9.1, MN-3)', () => {
    expect(first.reply?.text).toContain('hello from outside')
    expect(first.reply?.text).toContain(record.message.sender.address)
    expect(first.reply?.text).toContain(record.message.sender.auth_method)
  })

  test('appears to the operator in the documented format', () => {
    const { message, state, duplicates, response } = record
    expect(() => normalizedMessageSchema.parse(message)).not.toThrow()
    expect(message).toMatchObject({
      id: first.id,
      received_via: via,
      recipient: '@echo@agents.test',
      sender: { verified: true },
      recipient_capabilities: { mention_relay: { kind: relay } },
    })
    expect(message.sender.address).toContain(sender)
    expect(message.sender.auth_method).toContain(method)
    const [identity] = message.sender.identities ?? []
    expect(identity).toMatchObject({
      audience: '@echo@agents.test',
      assurance: evidence.assurance,
      proof: { type: 'transport' },
    })
    expect(identity?.method).toContain(evidence.method)
    expect(message.raw).toBeTruthy()
    expect({ state, duplicates }).toEqual({ state: 'answered', duplicates: 0 })
    expect(response).toMatchObject({
      in_reply_to: first.id,
      thread_id: message.thread_id,
      sender: '@echo@agents.test',
      status: 'completed',
    })
  })

  test('lists its proofs with their verdicts', () => {
    const passedKinds = record.proofs.filter(({ verdict }) => verdict === 'pass').map(({ kind }) => kind)
    expect(passedKinds).toEqual(expect.arrayContaining([...proofs]))
  })

  test('has one delivery, which succeeded at the first attempt, with the document that the gateway sent', () => {
    expect(record.deliveries).toHaveLength(1)
    expect(record.deliveries[0]).toMatchObject({ via, state: 'sent', attempts: 1 })
  })

  test('stays in its thread, so that the second message brings the history of the first', async () => {
    const { message } = await showSettled(second.id)
    expect(message.thread_id).toBe(record.message.thread_id)
    expect(message.history?.map(({ role }) => role)).toEqual(['user', 'assistant'])
    expect(JSON.stringify(message.history?.[0]?.parts)).toContain('hello from outside')
  })

  test('survives a restart', async () => {
    await gateway.restart()
    expect((await gateway.readMessage(first.id)).response?.id).toBe(record.response?.id)
  })
})

test('the operator sees all messages in one list, newest first', async () => {
  const vias = (await gateway.messages()).map(({ via }) => via)
  expect(vias).toEqual(['email', 'email', 'a2a', 'a2a', 'activitypub', 'activitypub'])
})

test('a mail from the intake route takes the same path', async () => {
  const { mail, answer } = await gateway.simulation.mail.deliver({
    to: 'echo@agents.test',
    subject: 'By the web',
    text: 'posted, not dialled',
    endpoint: 'intake',
  })
  expect(answer).toBe(200)
  const reply = await gateway.simulation.mail.awaitReply(mail.messageId, 30_000)
  expect(reply.headers.get('auto-submitted')).toEqual(['auto-replied'])
  expect(reply.references).toContain(mail.messageId.replace(/[<>]/g, ''))
})
