import type { Refusal } from '@postern/pipeline'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { TestGateway } from '../setup/gateway.ts'
import { gatewayOrigin, openTestGateway } from '../setup/gateway.ts'

// These tests check that each protocol refuses a peer that sends too much in its own form, and that the gateway stores nothing of it.

let gateway: TestGateway

beforeAll(async () => {
  gateway = await openTestGateway(() => ({ limits: { per_identity: 2, per_unverified: 1, per_agent: 100 } }))
})
afterAll(() => gateway.close())

const rateMessage = 'Cannot take message: too many from this sender in a short time'

async function times<Answer>(count: number, sendOne: (index: number) => Promise<Answer>): Promise<readonly Answer[]> {
  const answers: Answer[] = []
  for (let index = 0; index < count; index += 1) answers.push(await sendOne(index))
  return answers
}

/** Expects that only accepted messages are stored, and that the others are listed as refused. */
async function expectKept(via: string, keptCount: number, refusedCount: number): Promise<void> {
  const messages = (await gateway.messages()).filter(message => message.via === via)
  expect(messages).toHaveLength(keptCount)
  const { items: refusals } = await gateway.requestOperator<{ items: Refusal[] }>('/refusals?limit=500')
  const limited = refusals.filter(refusal => refusal.via === via)
  expect(limited.map(({ code, reason }) => [code, reason])).toEqual(
    Array(refusedCount).fill(['rate_limited', rateMessage]),
  )
}

test('an ActivityPub server over its rate gets 429 with Retry-After, while other people of the host do not (MN-7.1)', async () => {
  const sendPost = (from: string) =>
    gateway.simulation.fediverse.deliver({ to: '@echo@agents.test', from, text: 'hello' })
  const answers = await times(3, () => sendPost('alice@mastodon.test'))
  expect(answers.map(({ status }) => status)).toEqual([202, 202, 429])
  const refusedReceipt = answers[2]
  expect(Number(refusedReceipt?.headers.get('retry-after'))).toBeGreaterThan(0)
  expect(JSON.parse(refusedReceipt?.body ?? '')).toMatchObject({
    status: 429,
    code: 'rate_limited',
    detail: rateMessage,
  })
  expect((await sendPost('bob@mastodon.test')).status).toBe(202)
  await expectKept('activitypub', 3, 1)
})

test('an A2A caller over their rate gets 429 in the format of each binding, with the time to retry', async () => {
  const { a2a } = gateway.simulation
  const url = `${gatewayOrigin}/agents/echo/a2a`
  const answers = await times(3, () => a2a.deliver({ url, text: 'hello' }))
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 429])
  const seconds = Number(answers[2]?.headers.get('retry-after'))
  expect(seconds).toBeGreaterThan(0)
  const details = [
    { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'RATE_LIMITED', domain: 'a2a-protocol.org' },
    { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: `${seconds}s` },
  ]
  expect(answers[2]?.error).toEqual({ code: -32000, message: rateMessage, data: details })

  const restAnswer = await fetch(`${gateway.url()}/agents/echo/a2a/rest/message:send`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${await a2a.token()}`,
      'content-type': 'application/a2a+json',
      'a2a-version': '1.0',
    },
    body: JSON.stringify({ message: { messageId: 'rest', role: 'ROLE_USER', parts: [{ text: 'hello' }] } }),
  })
  expect([restAnswer.status, Number(restAnswer.headers.get('retry-after'))]).toEqual([429, expect.any(Number)])
  const { error } = (await restAnswer.json()) as { error: { details: { '@type': string }[] } }
  expect(error).toMatchObject({ code: 429, status: 'RESOURCE_EXHAUSTED', message: rateMessage })
  expect(error.details.map(detail => detail['@type'])).toEqual(details.map(detail => detail['@type']))
  await expectKept('a2a', 2, 2)
})

test('a mail sender over their rate gets 450 4.7.1 by SMTP and 429 by HTTP, and unproven names share their network’s limit', async () => {
  const { mail } = gateway.simulation
  const deliver = (endpoint: 'smtp' | 'intake', from?: string) =>
    mail.deliver({ to: 'echo@agents.test', text: 'hello', endpoint, ...(from && { from, sign: false }) })
  const proven = await times(3, () => deliver('smtp'))
  expect(proven.map(({ answer }) => answer)).toEqual([250, 250, 450])
  expect(proven[2]?.text).toMatch(/^450 4\.7\.1 Cannot take message: .* in a short time; try again in \d+ s$/)
  expect((await deliver('intake')).answer).toBe(429)

  const createdReceipts = await times(3, index => deliver('smtp', `nobody${index}@nodmarc.test`))
  expect(createdReceipts.map(({ answer }) => answer)).toEqual([250, 450, 450])
  const senders = (await gateway.messages()).filter(({ via }) => via === 'email')
  expect(senders.map(({ verified }) => verified).sort()).toEqual([false, true, true])
  await expectKept('email', 3, 4)
})
