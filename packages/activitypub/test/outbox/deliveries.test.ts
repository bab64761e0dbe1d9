import { Unavailable, Undeliverable } from '@postern/message'
import type { Agent, Delivery, DeliveryRecord, Turn } from '@postern/pipeline'
import { afterEach, expect, test } from 'vitest'
import { checkInboxResponse } from '../../src/deliver.ts'
import type { PeerAnswer } from '../peer.ts'
import { composeNote, postActivity, settlePerson } from '../person.ts'
import type { Stage } from '../stage.ts'
import { openStage } from '../stage.ts'

let stage: Stage | undefined
afterEach(() => stage?.close())

async function openTurnContext(agent: Agent, config = {}): Promise<Stage> {
  stage = await openStage({ agents: { echo: agent }, config })
  stage.peer.serve('https://good.test/inbox', { status: 202 })
  stage.gateway.work()
  return stage
}

async function settled({ gateway }: Stage, count = 1): Promise<readonly DeliveryRecord[]> {
  const readDeliveries = async () =>
    (await gateway.store.listDeliveries({ limit: 10 })).filter(({ state }) => state === 'sent' || state === 'dead')
  await expect.poll(async () => (await readDeliveries()).length).toBe(count)
  return readDeliveries()
}

function answersOf({ peer }: Stage): { cc: string[]; object: { tag: { name: string }[]; content: string } }[] {
  return peer.requests.filter(({ method }) => method === 'POST').map(({ body }) => JSON.parse(body))
}

function catchError(act: () => void): unknown {
  try {
    act()
    return undefined
  } catch (error) {
    return error
  }
}

const headers = new Headers()
const body = new Uint8Array()

test.each([200, 201, 202, 204])('checkInboxResponse() accepts %s', status => {
  expect(() => checkInboxResponse({ status, headers, body }, 1, 0)).not.toThrow()
})

test.each([408, 425, 429, 500, 502, 503, 504])('checkInboxResponse() asks for a retry after %s', status => {
  const error = catchError(() => checkInboxResponse({ status, headers, body }, 9, 0))
  expect(error).toBeInstanceOf(Unavailable)
  expect(error).toMatchObject({ message: `Cannot deliver: the inbox answered ${status}`, status })
})

test.each([301, 400, 404, 405, 410, 413, 415, 422, 501])('checkInboxResponse() gives up after %s', status => {
  const error = catchError(() => checkInboxResponse({ status, headers, body }, 1, 0))
  expect(error).toBeInstanceOf(Undeliverable)
  expect(error).toMatchObject({ message: `Cannot deliver: the inbox answered ${status}`, status })
})

test('checkInboxResponse() reports the first line of the response to the operator', () => {
  const words = Buffer.from('  {"error":"Blocked by the moderators"}\nsecond line')
  expect(catchError(() => checkInboxResponse({ status: 403, headers, body: words }, 9, 0))).toMatchObject({
    replyLine: '403 Forbidden · {"error":"Blocked by the moderators"}',
  })
})

test.each([401, 403])('checkInboxResponse() asks for a retry after %s only in the first attempts', status => {
  expect(() => checkInboxResponse({ status, headers, body }, 1, 0)).toThrow(Unavailable)
  expect(() => checkInboxResponse({ status, headers, body }, 3, 0)).toThrow(Undeliverable)
})

test.each([
  ['120', 120],
  [new Date(90_000).toUTCString(), 90],
  ['soon', undefined],
])('checkInboxResponse() honours a Retry-After of "%s"', (text, retryAfter) => {
  const error = catchError(() =>
    checkInboxResponse({ status: 503, headers: new Headers({ 'retry-after': text }), body }, 1, 0),
  )
  expect(error).toBeInstanceOf(Unavailable)
  expect((error as Unavailable).retryAfter).toBe(retryAfter)
})

test('a delivery to a deleted inbox becomes a dead letter with a reason', async () => {
  const open = await openTurnContext({ handle: () => 'hi' })
  open.peer.serve('https://good.test/inbox', { status: 410 })
  await postActivity(open.gateway, open.alice, composeNote(open.alice))
  expect(await settled(open)).toMatchObject([
    { state: 'dead', attempts: 1, last_error: 'Cannot deliver: the inbox answered 410' },
  ])
})

test('a retry sends the same document byte for byte, with a new signature', async () => {
  const open = await openTurnContext({ handle: () => 'hi' })
  const answers: PeerAnswer[] = [{ status: 503 }, { status: 429 }, { status: 202 }]
  open.peer.serve('https://good.test/inbox', () => answers.shift() ?? { status: 202 })
  await postActivity(open.gateway, open.alice, composeNote(open.alice))
  expect(await settled(open)).toMatchObject([{ state: 'sent', attempts: 3 }])
  const bodies = open.peer.requests.filter(({ method }) => method === 'POST').map(({ body }) => body)
  expect(bodies).toHaveLength(3)
  expect(new Set(bodies).size).toBe(1)
})

test('the operator sees the sent document of a delivery', async () => {
  const open = await openTurnContext({ handle: () => 'hi' })
  await postActivity(open.gateway, open.alice, composeNote(open.alice))
  const [delivery] = await settled(open)
  expect(delivery).toMatchObject({ to: 'https://good.test/inbox', wire: { type: 'Create', object: { type: 'Note' } } })
})

test('the gateway does not deliver to an inbox of a blocked domain', async () => {
  const open = await openTurnContext({ handle: () => 'hi' }, { block: ['other.test'] })
  const alice = settlePerson(open.peer, 'alice@good.test', {
    document: { inbox: 'https://other.test/inbox', endpoints: undefined },
  })
  await postActivity(open.gateway, alice, composeNote(alice))
  expect(await settled(open)).toMatchObject([{ state: 'dead', last_error: expect.stringContaining('blocked') }])
  expect(open.peer.countOf('https://other.test/inbox')).toBe(0)
})

test('the gateway does not deliver to an inbox on a private address (AP-40)', async () => {
  const open = await openTurnContext({ handle: () => 'hi' })
  const alice = settlePerson(open.peer, 'alice@good.test', {
    document: { inbox: 'https://127.0.0.1/inbox', endpoints: undefined },
  })
  await postActivity(open.gateway, alice, composeNote(alice))
  expect(await settled(open)).toMatchObject([{ state: 'dead', last_error: 'Cannot fetch: address is not public' }])
})

test('the gateway resolves mentioned people, names them in all copies, and delivers to them', async () => {
  const open = await openTurnContext({
    handle: () => ({
      parts: [{ kind: 'text', mime: 'text/plain', content: 'ask bob' }],
      mentions: ['@bob@other.test'],
    }),
  })
  const bob = settlePerson(open.peer, 'bob@other.test')
  open.peer.serve(`${bob.id}/inbox`, { status: 202 })
  await postActivity(open.gateway, open.alice, composeNote(open.alice))
  expect(await settled(open, 2)).toMatchObject([{ state: 'sent' }, { state: 'sent' }])
  const sent = answersOf(open)
  expect(sent).toHaveLength(2)
  for (const document of sent) {
    expect(document.cc).toContain(bob.id)
    expect(document.object.tag.map(({ name }) => name)).toEqual(['@alice@good.test', '@bob@other.test'])
    expect(document.object.content).toContain('href="https://other.test/@bob"')
  }
})

test('an unresolvable recipient is a dead letter, and the author still gets the answer', async () => {
  const open = await openTurnContext({
    handle: () => ({ parts: [{ kind: 'text', mime: 'text/plain', content: 'ask' }], mentions: ['@nobody@other.test'] }),
  })
  await postActivity(open.gateway, open.alice, composeNote(open.alice))
  const [...deliveries] = await settled(open, 2)
  expect(deliveries.map(({ to, state }) => [to, state]).sort()).toEqual([
    ['@nobody@other.test', 'dead'],
    ['https://good.test/inbox', 'sent'],
  ])
})

test('address() plans no delivery for an author without an inbox', () => {
  const turn = {
    agent: 'echo',
    content: { recipient: '@echo@agents.test', recipient_capabilities: {} },
    target: { actor: 'a', object: 'b', visibility: 'public' },
  }
  const response = { id: 'r', parts: [] }
  return openTurnContext({ handle: () => undefined }).then(({ gateway }) => {
    const { deliveries, aliases } = gateway.channel.address({
      turn: turn as unknown as Turn,
      response: response as never,
    })
    expect(deliveries).toEqual([])
    expect(aliases).toEqual([
      'https://agents.test/agents/echo/posts/r',
      'https://agents.test/agents/echo/posts/r/activity',
    ])
  })
})

test('prepare() renders nothing without an answer', async () => {
  const { gateway } = await openTurnContext({ handle: () => undefined })
  expect(() => gateway.channel.prepare({ target: {} } as unknown as Delivery)).toThrow(
    new Undeliverable('Cannot deliver: there is no answer to render'),
  )
})
