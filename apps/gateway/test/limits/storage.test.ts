import { statfsSync } from 'node:fs'
import type { Refusal } from '@postern/pipeline'
import { expect, onTestFinished, test } from 'vitest'
import type { TestGateway } from '../setup/gateway.ts'
import { gatewayOrigin, openTestGateway } from '../setup/gateway.ts'
import { openWebGateway } from '../setup/web-gateway.ts'

// These tests check the storage limits of peers, which each protocol enforces in its own form; the operator sees the refusals.

type Limits =
  NonNullable<Parameters<typeof openTestGateway>[0]> extends (...any: never[]) => infer Config ? Config : never

async function openLimitedGateway(limits: object): Promise<TestGateway> {
  const gateway = await openTestGateway(() => ({ limits }) as Limits)
  onTestFinished(() => gateway.close())
  return gateway
}

const text = 'many words '.repeat(1_000)
const senderRefusal = 'Cannot store message: too much of this sender is stored (limits.stored)'
const diskRefusal = 'Cannot store message: the disk is almost full'

const listRefusals = async (gateway: TestGateway) => {
  const { items } = await gateway.requestOperator<{ items: Refusal[] }>('/refusals?limit=500')
  return items.map(({ via, code, reason }) => [via, code, reason])
}

/** Sends until something is refused. Returns what was accepted before that, and the refusal. */
async function sendUntil<Answer>(sendOne: () => Promise<Answer>, isRefused: (answer: Answer) => boolean) {
  for (let sentCount = 0; sentCount < 20; sentCount += 1) {
    const answer = await sendOne()
    if (isRefused(answer)) return { acceptedCount: sentCount, answer }
  }
  throw new Error('nothing was refused')
}

test('each channel refuses a sender who has stored too much, and the operator sees the refusal', async () => {
  const gateway = await openLimitedGateway({ stored: { per_identity: 100_000, per_unverified: 50_000 } })
  const { fediverse, a2a, mail } = gateway.simulation
  const post = { to: '@echo@agents.test', from: 'alice@mastodon.test', text }
  const posts = await sendUntil(
    () => fediverse.deliver(post),
    ({ status }) => status !== 202,
  )
  const tasks = await sendUntil(
    () => a2a.deliver({ url: `${gatewayOrigin}/agents/echo/a2a`, text }),
    ({ status }) => status !== 200,
  )
  expect([posts.answer.status, tasks.answer.status]).toEqual([429, 429])
  const sendCall = (overrides: object) => () =>
    mail.deliver({ to: 'echo@agents.test', text, endpoint: 'smtp' as const, ...overrides })
  const mails = await sendUntil(sendCall({}), ({ answer }) => answer !== 250)
  const unproven = await sendUntil(
    sendCall({ from: 'nobody@nodmarc.test', sign: false }),
    ({ answer }) => answer !== 250,
  )
  expect([mails.answer.answer, unproven.answer.answer]).toEqual([450, 450])
  expect(
    Math.min(posts.acceptedCount, tasks.acceptedCount, mails.acceptedCount, unproven.acceptedCount),
  ).toBeGreaterThan(0)
  expect(await listRefusals(gateway)).toEqual(
    ['email', 'email', 'a2a', 'activitypub'].map(via => [via, 'rate_limited', senderRefusal]),
  )
}, 60_000)

test('unproven senders share one storage limit, which does not affect proven senders', async () => {
  const gateway = await openLimitedGateway({ stored: { unverified: 40_000 } })
  const { mail } = gateway.simulation
  const sendMail = (from?: string) =>
    mail.deliver({ to: 'echo@agents.test', text, endpoint: 'smtp', ...(from && { from, sign: false }) })
  const unproven = [await sendMail('one@nodmarc.test'), await sendMail('two@nodmarc.test')]
  expect(unproven.map(({ answer }) => answer)).toEqual([250, 450])
  expect((await sendMail()).answer).toBe(250)
}, 60_000)

test('unproven senders get 451 on an almost full disk, while everybody else gets through', async () => {
  const { bavail, bsize } = statfsSync('/tmp')
  const gateway = await openLimitedGateway({ free_bytes: Math.floor(bavail * bsize * 1.5) })
  const { mail } = gateway.simulation
  const unproven = await mail.deliver({
    ...{ to: 'echo@agents.test', text: 'hello', endpoint: 'smtp' },
    ...{ from: 'nobody@nodmarc.test', sign: false },
  })
  expect([unproven.answer, unproven.text]).toEqual([451, `451 4.4.3 ${diskRefusal}`])
  expect((await mail.deliver({ to: 'echo@agents.test', text: 'hello', endpoint: 'smtp' })).answer).toBe(250)
  expect(await listRefusals(gateway)).toEqual([['email', 'unavailable', diskRefusal]])
}, 60_000)

test('everybody gets 451 or 503 on a full disk, and the gateway is not ready', async () => {
  const gateway = await openLimitedGateway({ free_bytes: Number.MAX_SAFE_INTEGER })
  const { mail, fediverse, a2a } = gateway.simulation
  expect((await mail.deliver({ to: 'echo@agents.test', text: 'hello', endpoint: 'smtp' })).answer).toBe(451)
  const post = await fediverse.deliver({ to: '@echo@agents.test', from: 'alice@mastodon.test', text: 'hello' })
  expect([post.status, Number(post.headers.get('retry-after'))]).toEqual([503, 300])
  expect((await a2a.deliver({ url: `${gatewayOrigin}/agents/echo/a2a`, text: 'hello' })).status).toBe(503)
  expect((await fetch(`${gateway.url()}/readyz`)).status).toBe(503)
  expect((await listRefusals(gateway)).map(([via, code]) => [via, code])).toEqual(
    ['a2a', 'activitypub', 'email'].map(via => [via, 'unavailable']),
  )
}, 60_000)

test('uploads, sessions and stored messages of the chat get 503 on a full disk, while deletions go through', async () => {
  const web = await openWebGateway({}, { limits: { free_bytes: Number.MAX_SAFE_INTEGER } })
  onTestFinished(() => web.close())
  const form = new FormData()
  form.set('file', new File(['words'], 'a.txt'))
  form.set('threadId', 't')
  const upload = await web.requestAs('/api/v1/agent/attachments', { method: 'POST', body: form })
  expect([upload.status, upload.headers.get('retry-after'), await upload.json()]).toMatchObject([
    503,
    '300',
    { detail: diskRefusal },
  ])
  const messages = [{ type: 'user_message', content: 'hello' }]
  expect((await web.requestJson('POST', '/v1/store/here/messages', { messages })).status).toBe(503)
  expect((await web.requestJson('POST', '/v1/sessions', { agent_slug: 'chat' })).status).toBe(503)
  expect((await web.requestJson('DELETE', '/v1/store/here')).status).toBe(404)
}, 60_000)
