import { createHmac } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { ForgottenPerson } from '@postern/pipeline'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { operatorToken } from '../setup/gateway.ts'
import type { PeopleTestGateway } from '../setup/people-gateway.ts'
import { openPeopleGateway } from '../setup/people-gateway.ts'

// These tests check that agents with memories of their own forget people, too: a module at once, a webhook as soon as it can.

interface DiaryContents {
  readonly diary: readonly { readonly said: string; readonly person?: string; readonly thread: string }[]
  readonly forgotten: readonly ForgottenPerson[]
}

interface WebhookCall {
  readonly id: string
  readonly body: { readonly kind?: string } & Partial<ForgottenPerson>
}

const secret = 'whsec_c2hhcmVkIHNlY3JldCBvZiBib3RoIHNpZGVz'
const diary = join(import.meta.dirname, '../agents/people/diary.ts')

let people: PeopleTestGateway
const receivedCalls: WebhookCall[] = []
let isOpen = false

const sign = (text: string) =>
  createHmac('sha256', Buffer.from(secret.slice('whsec_'.length), 'base64'))
    .update(text)
    .digest('base64')

const server = createServer((request, response) => {
  const chunks: Buffer[] = []
  request.on('data', chunk => chunks.push(chunk))
  request.on('end', () => {
    const text = Buffer.concat(chunks).toString()
    const { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signature } = request.headers
    const body = JSON.parse(text) as WebhookCall['body']
    receivedCalls.push({ id: String(id), body })
    const isSigned = signature === `v1,${sign(`${id}.${timestamp}.${text}`)}`
    const isLate = body.kind === 'forget' && !isOpen
    response.writeHead(isLate ? 503 : isSigned ? 200 : 401, { 'content-type': 'application/json', 'retry-after': '1' })
    response.end(isLate ? '' : JSON.stringify({ text: 'noted' }))
  })
})

beforeAll(async () => {
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  people = await openPeopleGateway({
    agents: {
      desk: { use: diary, people: { link: true } },
      elsewhere: { use: 'webhook', url, secret, receives: ['message', 'forget'] },
    },
  })
})
afterAll(async () => {
  await people.close()
  server.close()
})

async function forget(address: string) {
  const response = await fetch(`${people.gateway.url()}/operator/api/people/forget`, {
    method: 'POST',
    headers: { authorization: `Bearer ${operatorToken}`, 'content-type': 'application/json' },
    body: JSON.stringify({ address }),
  })
  return (await response.json()) as { readonly messages: number; readonly agents: readonly object[] }
}

const parseReport = <Read>({ text }: { readonly text: string }) =>
  JSON.parse(text.slice(text.indexOf('{')).replace(/\n/g, '')) as Read

const readDiary = async () => parseReport<DiaryContents>(await people.askByMail('what?', { from: 'eve@alice.test' }))
const listForgettings = () => receivedCalls.filter(({ body }) => body.kind === 'forget')

test('the operator forgets a person and sees which agents have too, by the key and conversations known to each', async () => {
  const byMail = parseReport<{ id: string; thread: string }>(await people.askByMail('my cat is called Ada'))
  await people.askByMail('my dog, too', { from: 'bob@alice.test' })
  await people.askByMail('hello', { to: 'elsewhere' })
  await people.linkMail()
  const { id } = parseReport<{ id: string }>(await people.askByMail('again'))
  const diaryTexts = (await readDiary()).diary.map(({ said }) => said)
  expect(diaryTexts).toEqual(['my cat is called Ada', 'my dog, too', 'again'])

  const { messages, agents } = await forget('alice@alice.test')
  expect(messages).toBeGreaterThan(4)
  expect(agents).toEqual(
    expect.arrayContaining([
      { agent: 'desk', has_forgotten: true },
      { agent: 'elsewhere', has_forgotten: false, error: expect.stringContaining('503') },
    ]),
  )
  const contents = await readDiary()
  expect(contents.diary).toHaveLength(1)
  const [forgottenPerson] = contents.forgotten
  expect(forgottenPerson).toMatchObject({
    person: id,
    addresses: expect.arrayContaining([
      { via: 'email', address: '@alice@alice.test' },
      { via: 'activitypub', address: '@alice@mastodon.test' },
    ]),
  })
  expect(forgottenPerson?.threads).toContain(byMail.thread)
})

test('the gateway calls a webhook that does not answer again until it does, also after a restart', async () => {
  const [first] = listForgettings()
  expect(first?.body).toMatchObject({
    kind: 'forget',
    person: expect.stringMatching(/^[0-9a-f]{32}$/),
    addresses: [{ via: 'email', address: '@alice@alice.test' }],
    threads: [expect.any(String)],
  })
  await vi.waitFor(() => expect(listForgettings().length).toBeGreaterThan(1))
  await people.gateway.restart()
  isOpen = true
  const countBefore = listForgettings().length
  await vi.waitFor(() => expect(listForgettings().length).toBeGreaterThan(countBefore))
  expect(new Set(listForgettings().map(({ id }) => id))).toEqual(new Set([first?.id]))
  await forget('nobody@alice.test')
  await vi.waitFor(async () => expect(JSON.stringify(await readWaiting())).toBe('[]'))
})

/** Returns the calls that wait in the store. */
async function readWaiting() {
  const { store } = people.gateway.gateway()
  return store.records.list('agent-forgetting', 'gateway')
}

test('the agent also forgets a person who says "forget me"', async () => {
  const { id } = parseReport<{ id: string }>(await people.askByMail('remember this', { from: 'carl@alice.test' }))
  await people.askByMail('forget me', { from: 'carl@alice.test' })
  await vi.waitFor(async () => expect((await readDiary()).forgotten.map(({ person }) => person)).toContain(id))
  expect((await readDiary()).diary.map(({ person }) => person)).not.toContain(id)
})
