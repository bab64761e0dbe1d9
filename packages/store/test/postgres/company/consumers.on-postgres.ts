import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { LeaseLost, Unavailable } from '@postern/message'
import type { Delivery, DeliveryTicket, Turn, TurnConsumer, TurnTicket } from '@postern/pipeline'
import { sketchAnswer, sketchedChannels, sketchIntake } from '@postern/testing'
import { expect, onTestFinished, test } from 'vitest'
import type { GatewayStore } from '../../../src/index.ts'
import { openPostgresStore } from '../../../src/postgres/index.ts'
import { discardLog } from '../../open-test-store.ts'
import { createTestConsumer } from '../../test-consumer.ts'
import { makeDatabase, openPostgresTestStore, schemaOf } from '../open-postgres-test-store.ts'
import { askServer } from '../test-server.ts'

const leaseMs = 60_000
const pollOf = (holder: string) => ({ holder, limit: 10, leaseMs })

interface TestWorker {
  readonly consumer: TurnConsumer
  /** The tickets of slots that are reserved or in use. */
  readonly slots: ReadonlySet<TurnTicket>
  /** Turns that arrived with their lease. */
  readonly begun: readonly Turn[]
  /** Polls for turns and answers them. */
  poll(): Promise<void>
  /** Resolves when all turns that it has begun are answered. */
  untilFree(): Promise<void>
}

/** Starts a worker that runs at most `most` turns of an agent at once. It answers each after some milliseconds; with `isHeld`, never. */
function startTestWorker(store: GatewayStore, { holder = 'worker', most = 10, isHeld = false } = {}): TestWorker {
  const slots = new Set<TurnTicket>()
  const begun: Turn[] = []
  const running = new Set<Promise<void>>()
  let polling = 0

  async function answer(turn: Turn): Promise<void> {
    await delay(Math.random() * 8)
    await store.commit(turn, sketchAnswer(turn, 'hello'))
    slots.delete(turn)
  }

  function run(turn: Turn): void {
    slots.add(turn)
    if (isHeld) return
    const end = answer(turn).finally(() => running.delete(end))
    running.add(end)
  }

  const consumer: TurnConsumer = {
    holder,
    leaseMs,
    hasCapacity: () => slots.size + polling < most,
    maxConcurrent: () => most,
    beginPoll() {
      polling = Math.ceil((most - slots.size) / 2)
      return { limit: polling, shares: { maxPerGroup: most, usedByGroup: new Map([['echo', slots.size]]) } }
    },
    endPoll() {
      polling = 0
    },
    reserveSlot: ticket => void slots.add(ticket),
    undoLease: turn => void slots.delete(turn),
    releaseSlot: ticket => void slots.delete(ticket),
    begin(turn, ticket) {
      slots.delete(ticket)
      begun.push(turn)
      run(turn)
    },
  }
  store.setTurnConsumer?.(consumer)
  return {
    begun,
    consumer,
    slots,
    async poll() {
      for (const turn of await store.leaseTurns({ ...pollOf(holder), consumer })) run(turn)
    },
    async untilFree() {
      while (running.size > 0) await Promise.all(running)
    },
  }
}

test('the turn of a thread’s first message starts with its lease, and no other gateway finds it', async () => {
  const { store, reopen, url } = await openPostgresTestStore()
  const other = (await reopen?.()) as GatewayStore
  const worker = startTestWorker(store, { isHeld: true })
  await store.admit(sketchIntake('m1', { task: { owner: 'ada', id: 'task 1', context: 'c' } }), 'c')
  expect(worker.begun.map(({ content, token, attempt }) => [content.id, token, attempt])).toEqual([['m1', 1, 1]])
  expect(await other.leaseTurns(pollOf('other'))).toEqual([])
  expect((await store.findTask({ owner: 'ada', id: 'task 1' }))?.state).toBe('working')
  for (const turn of worker.begun) await store.commit(turn, sketchAnswer(turn, 'yes'))
  const left = await askServer('SELECT 1 FROM turns WHERE lease_owner IS NOT NULL OR ended_at IS NULL', schemaOf(url))
  expect(left).toEqual([])
  expect((await store.count()).messages).toMatchObject({ working: 0, answered: 1 })
  await Promise.all([store.close(), other.close()])
})

test('a turn that starts with its lease has the same content as by a poll', async () => {
  const intake = sketchIntake('m1', { flags: ['odd'], task: { owner: 'ada', id: 'task 1', context: 'c' } })
  const { store } = await openPostgresTestStore()
  const { begun } = startTestWorker(store, { isHeld: true })
  await store.admit(intake, 'c')
  const { store: plain } = await openPostgresTestStore()
  await plain.admit(intake, 'c')
  const [leased] = await plain.leaseTurns(pollOf('worker'))
  // Each database draws an id for the thread.
  const thread_id = leased?.content.thread_id
  expect(begun.map(turn => ({ ...turn, content: { ...turn.content, thread_id } }))).toStrictEqual([
    { ...leased, content: { ...leased?.content } },
  ])
  expect(begun[0]?.content.raw).toEqual(leased?.content.raw)
  await Promise.all([store.close(), plain.close()])
})

test('each of several simultaneous messages takes one slot, however often its write runs again', async () => {
  const { store, url } = await openPostgresTestStore()
  const { begun } = startTestWorker(store, { most: 3, isHeld: true })
  // The rest of the budget is read after the slot was reserved. Then the write runs again.
  const budgets = [{ key: 'k', turns: 10, withinMs: 60_000, flag: 'rate' }]
  await Promise.all(['m1', 'm2', 'm3', 'm4'].map(id => store.admit(sketchIntake(id, { budgets }), 'c')))
  expect(begun.map(({ content }) => content.id)).toEqual(['m1', 'm2', 'm3'])
  // Each turn has the committed id of its thread.
  const threads = await askServer('SELECT key, public_id FROM threads', schemaOf(url))
  for (const { content } of begun)
    expect(threads).toContainEqual({ key: content.thread_source, public_id: content.thread_id })
  await store.close()
})

test('gateways that start turns in parallel respect each agent’s concurrency, and answer each once', async () => {
  const { store, reopen, url } = await openPostgresTestStore()
  const stores = [store, ...(await Promise.all([reopen?.(), reopen?.()]))] as GatewayStore[]
  const workers = stores.map((each, at) => startTestWorker(each, { holder: `worker ${at}`, most: 4 }))
  let isOver = false
  const held = watchHeld(schemaOf(url), () => isOver)
  const polls = workers.map(async worker => {
    while (!isOver) await Promise.all([worker.poll(), delay(20)])
  })
  for (let wave = 0; wave < 30; wave += 1) {
    const ids = Array.from({ length: 12 }, (_, at) => `${wave}-${at}`)
    await Promise.all(ids.map((id, at) => stores[at % 3]?.admit(sketchIntake(id), 'c')))
    await delay(5)
  }
  while ((await store.count()).messages.answered < 360) await delay(20)
  isOver = true
  await Promise.all([...polls, ...workers.map(worker => worker.untilFree())])
  expect(Math.max(...(await held))).toBe(4)
  expect(workers.flatMap(worker => worker.begun).length).toBeGreaterThan(0)
  expect((await store.count()).messages).toMatchObject({ received: 0, working: 0, answered: 360 })
  await Promise.all(stores.map(each => each.close()))
}, 120_000)

/** Watches the number of leased turns repeatedly. */
async function watchHeld(schema: string, isOver: () => boolean): Promise<readonly number[]> {
  const seen: number[] = []
  while (!isOver()) {
    const [row] = await askServer<{ held: string }>(
      'SELECT count(*) AS held FROM turns WHERE lease_owner IS NOT NULL',
      schema,
    )
    seen.push(Number(row?.held))
  }
  return seen
}

/** Opens a connection to the server. Once armed, it breaks before the answer to the next COMMIT arrives. */
async function openBreakingLine(url: string) {
  const target = new URL(url)
  let isArmed = false
  const server = createServer(clientSocket => {
    const serverSocket = connect(Number(target.port), target.hostname)
    for (const socket of [clientSocket, serverSocket])
      socket.on('error', () => {}).on('close', () => clientSocket.destroy() && serverSocket.destroy())
    clientSocket.on('data', bytes => serverSocket.write(bytes))
    serverSocket.on('data', bytes => {
      const breaks = isArmed && bytes.includes('COMMIT\0')
      if (breaks) isArmed = false
      void (breaks ? clientSocket.destroy() : clientSocket.write(bytes))
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const own = new URL(url)
  own.port = String((server.address() as { readonly port: number }).port)
  return {
    url: own.href,
    arm() {
      isArmed = true
    },
  }
}

test('the next poll takes up a turn whose connection broke at the commit, before its lease ends', async () => {
  const line = await openBreakingLine(makeDatabase())
  const store = await openPostgresStore({ channels: sketchedChannels, url: line.url, now: Date.now, log: discardLog })
  const { begun } = startTestWorker(store, { isHeld: true })
  line.arm()
  await expect(store.admit(sketchIntake('m1'), 'c')).rejects.toThrow(Unavailable)
  expect(begun).toEqual([])
  expect(await store.admit(sketchIntake('m1'), 'c')).toMatchObject({ outcome: 'duplicate' })
  const [turn] = await store.leaseTurns(pollOf('worker'))
  expect([turn?.content.id, turn?.token]).toEqual(['m1', 2])
  await store.close()
})

test('a transaction that the server aborts keeps no slot, and its messages wait for a poll', async () => {
  const { store, url } = await openPostgresTestStore()
  const worker = startTestWorker(store, { most: 3, isHeld: true })
  const schema = schemaOf(url)
  await askServer('ALTER TABLE turns ADD CONSTRAINT no_lease CHECK (lease_owner IS NULL)', schema)
  await expect(store.admit(sketchIntake('m1'), 'c')).rejects.toThrow()
  await askServer('ALTER TABLE turns DROP CONSTRAINT no_lease', schema)
  for (const id of ['m1', 'm2', 'm3', 'm4']) await store.admit(sketchIntake(id), 'c')
  expect(worker.begun.map(({ content }) => content.id)).toEqual(['m1', 'm2', 'm3'])
  expect((await store.count()).messages).toMatchObject({ working: 3, received: 1 })
  await store.close()
})

test('a worker that replaces one of the same name uses none of the other’s slots', async () => {
  const { store } = await openPostgresTestStore()
  const former = startTestWorker(store, { isHeld: true })
  const budgets = [{ key: 'k', turns: 10, withinMs: 60_000, flag: 'rate' }]
  const admitting = store.admit(sketchIntake('m1', { budgets }), 'c')
  while (former.slots.size === 0) await new Promise(setImmediate)
  const next = startTestWorker(store, { isHeld: true })
  await admitting
  expect([former.begun.length, next.begun.length, next.slots.size]).toEqual([1, 0, 0])
  await store.admit(sketchIntake('m2'), 'c')
  expect(next.begun.map(({ content }) => content.id)).toEqual(['m2'])
  const message = { thread_source: 'thread of m2' }
  await store.commit(next.begun[0] as Turn, sketchAnswer(next.begun[0] as Turn, 'yes'))
  await store.admit(sketchIntake('m3', { message }), 'c')
  const poll = store.leaseTurns({ ...pollOf('worker'), consumer: former.consumer })
  const last = startTestWorker(store, { isHeld: true })
  expect((await poll).map(({ content }) => content.id)).toEqual(['m3'])
  expect([former.slots.size, last.slots.size]).toEqual([2, 0])
  await store.close()
})

test('the store accepts messages that come while a worker starts', async () => {
  const { store } = await openPostgresTestStore()
  const budgets = [{ key: 'k', turns: 100, withinMs: 60_000, flag: 'rate' }]
  const admitting = Array.from({ length: 20 }, async (_, at) => {
    for (let hop = 0; hop < at; hop += 1) await new Promise(setImmediate)
    return store.admit(sketchIntake(`m${at}`, { budgets }), 'c')
  })
  await delay(5)
  startTestWorker(store, { isHeld: true, most: 100 })
  const outcomes = await Promise.all(admitting)
  expect(new Set(outcomes.map(({ outcome }) => outcome))).toEqual(new Set(['accepted']))
  await store.close()
})

/** Connects a worker that sends nothing. Returns its deliveries. */
function takeDeliveries(store: GatewayStore): readonly Delivery[] {
  const { consumer, begun } = createTestConsumer<Delivery, DeliveryTicket>()
  store.setDeliveryConsumer?.(consumer)
  return begun
}

const inbox = 'https://peer.test/inbox'
const deliveriesOf = (holder: string) => ({ ...pollOf(holder), rank: 'answer' as const })

async function leaseOne(store: GatewayStore): Promise<Turn> {
  await store.admit(sketchIntake('m1'), 'c')
  const [turn] = await store.leaseTurns(pollOf('worker'))
  if (!turn) throw new Error('no turn is due')
  return turn
}

test('the delivery of an answer starts with its lease, and no other gateway finds it', async () => {
  const { store, reopen } = await openPostgresTestStore()
  const other = (await reopen?.()) as GatewayStore
  const begun = takeDeliveries(store)
  const turn = await leaseOne(store)
  await store.commit(turn, sketchAnswer(turn, 'yes', [inbox]))
  expect(begun.map(({ to, token, attempt, message }) => [to, token, attempt, message.id])).toEqual([
    [inbox, 1, 1, 'm1'],
  ])
  expect(await other.leaseDeliveries(deliveriesOf('other'))).toEqual([])
  for (const delivery of begun) await store.settle(delivery, { state: 'sent' })
  expect((await other.count()).deliveries).toMatchObject({ queued: 0, sent: 1 })
  await Promise.all([store.close(), other.close()])
})

test('the next poll sends a delivery once whose connection broke at the commit', async () => {
  const line = await openBreakingLine(makeDatabase())
  const store = await openPostgresStore({ channels: sketchedChannels, url: line.url, now: Date.now, log: discardLog })
  const begun = takeDeliveries(store)
  const turn = await leaseOne(store)
  line.arm()
  const said = sketchAnswer(turn, 'yes', [inbox])
  await expect(store.commit(turn, said)).rejects.toThrow(Unavailable)
  await expect(store.commit(turn, said)).rejects.toThrow(LeaseLost)
  expect(begun).toEqual([])
  const [delivery] = await store.leaseDeliveries(deliveriesOf('worker'))
  expect([delivery?.to, delivery?.token]).toEqual([inbox, 2])
  expect(await store.leaseDeliveries(deliveriesOf('worker'))).toEqual([])
  await store.close()
})

test('a poll that takes no due work leaves it for other gateways', async () => {
  const { store, reopen } = await openPostgresTestStore()
  const other = (await reopen?.()) as GatewayStore
  await Promise.all(['m1', 'm2'].map(id => store.admit(sketchIntake(id), 'c')))
  const [held] = await store.leaseTurns({ ...pollOf('one'), limit: 1 })
  expect(held).toBeDefined()
  for (let round = 0; round < 100; round += 1) {
    // The poll finds the second turn, and that the agent has as many as it may.
    expect(await other.leaseTurns({ ...pollOf('two'), shares: { maxPerGroup: 1, usedByGroup: new Map() } })).toEqual([])
    const [turn] = await store.leaseTurns(pollOf('one'))
    expect(turn?.content.id, `round ${round}`).toBe('m2')
    if (turn) await store.release(turn, { dueAt: 0, isUncounted: true })
  }
  await Promise.all([store.close(), other.close()])
})
