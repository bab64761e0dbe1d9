import { setTimeout as delay } from 'node:timers/promises'
import { LeaseLost } from '@postern/message'
import type { Intake, Turn } from '@postern/pipeline'
import { sketchAnswer, sketchIntake } from '@postern/testing'
import { describe, expect, test } from 'vitest'
import type { GatewayStore } from '../../../src/index.ts'
import type { SystemStore } from '../../random-system.ts'
import { Randomness } from '../../random-system.ts'
import { createFindUnsound } from '../find-unsound.ts'
import { openPostgresTestStore, schemaOf } from '../open-postgres-test-store.ts'
import { askServer } from '../test-server.ts'

/** The range of seeds. A developer tries others by hand: `SEEDS=100-200 npm run test:postgres -- company`. */
const [from = 1, to = 4] = process.env.SEEDS?.split('-').map(Number) ?? []
const seeds = Array.from({ length: to - from + 1 }, (_, at) => from + at)
const request = { limit: 10, leaseMs: 30_000 }

async function openStores(count: number) {
  // A busy machine must not count as a silent server. A call that gives up here would be a failed step.
  const tested = await openPostgresTestStore({ patienceMs: 120_000 })
  const otherStores = await Promise.all(
    Array.from({ length: count - 1 }, () => tested.reopen?.() as Promise<GatewayStore>),
  )
  const stores = [tested.store, ...otherStores]
  return { ...tested, stores, close: () => Promise.all(stores.map(store => store.close())) }
}

/**
 * Watches the numbers of a thread's rows in the order in which they become visible. A reader that continues from the newest would miss a lower number
 * that appears later.
 */
async function watchNumbers(schema: string, isOver: () => boolean): Promise<readonly string[]> {
  const newest = new Map<string, number>()
  const seen = new Set<number>()
  const missed: string[] = []
  while (!isOver()) {
    const rows = await askServer<{ seq: string; thread_id: string }>('SELECT seq, thread_id FROM messages', schema)
    const newestByThread = new Map(newest)
    for (const { seq, thread_id } of rows) {
      const number = Number(seq)
      if (!seen.has(number) && number < (newestByThread.get(thread_id) ?? 0))
        missed.push(`${seq} of thread ${thread_id}`)
      seen.add(number)
      newest.set(thread_id, Math.max(newest.get(thread_id) ?? 0, number))
    }
  }
  return missed
}

describe('several stores on one database', () => {
  test.each(seeds)(
    'keep rows consistent and end all work, for any calls (seed %i)',
    async seed => {
      const { stores, url, close, ...tested } = await openStores(3)
      const findUnsound = createFindUnsound(schemaOf(url))
      const systems = stores.map((store, at) => new Randomness({ ...tested, store } as SystemStore, seed * 10 + at))
      for (let round = 1; round <= 8; round += 1) {
        await Promise.all(
          systems.map(async system => {
            for (let step = 0; step < 25; step += 1) await system.step()
          }),
        )
        const done = systems.map(system => system.trace.slice(-12).join(', ')).join(' | ')
        expect(await findUnsound(), `after round ${round}: ${done}`).toEqual([])
      }
      expect(await systems[0]?.finish()).toBe(true)
      expect(await findUnsound({ isDone: true })).toEqual([])
      await close()
    },
    240_000,
  )

  test('lose no message, answer each once, and number each thread in the order that readers see', async () => {
    const { stores, url, close } = await openStores(3)
    let isOver = false
    const watching = watchNumbers(schemaOf(url), () => isOver)
    const senders = Array.from({ length: 24 }, (_, sender) => tellStory(stores, sender))
    const workers = stores.map((store, at) => answerAll(store, `worker ${at}`, () => isOver))
    await Promise.all(senders)
    await untilAnswered(stores[0] as GatewayStore, 24 * 12)
    isOver = true
    const answered = (await Promise.all(workers)).flat()
    expect(await watching).toEqual([])
    expect(new Set(answered).size).toBe(answered.length)
    expect(answered.length).toBe(24 * 12)
    const rows = await askServer<{ native_id: string; key: string }>(
      `SELECT m.native_id, t.key FROM messages m JOIN threads t ON t.id = m.thread_id WHERE m.kind = 'message' ORDER BY m.seq`,
      schemaOf(url),
    )
    // Every other sender sends a part only after the one before it is acknowledged.
    for (let sender = 0; sender < 24; sender += 2) {
      const told = rows.flatMap(({ native_id }) =>
        native_id.startsWith(`${sender}-`) ? [Number(native_id.split('-')[1])] : [],
      )
      expect(told).toEqual(Array.from({ length: 12 }, (_, at) => at))
    }
    const responses = await askServer(
      `SELECT r.seq FROM messages r WHERE r.kind = 'response' AND r.seq <= r.answers`,
      schemaOf(url),
    )
    expect(responses).toEqual([])
    await close()
  }, 120_000)

  test('exceed no budget, limit of open tasks or concurrency', async () => {
    const { stores, url, close } = await openStores(3)
    const budget = { key: 'k', turns: 10, withinMs: 60_000, flag: 'rate' }
    const ids = Array.from({ length: 90 }, (_, at) => at)
    const admitAll = (draft: (at: number) => Intake) =>
      Promise.allSettled(ids.map(at => stores[at % 3]?.admit(draft(at), 'c')))
    await admitAll(at => sketchIntake(`b${at}`, { agent: 'bounded', budgets: [budget], ...inThread(`b${at}`) }))
    const opened = await admitAll(at =>
      sketchIntake(`t${at}`, {
        agent: 'tasks',
        task: { owner: 'ada', id: `task ${at}`, context: `c${at}`, maxOpenTasks: 20 },
        ...inThread(`t${at}`),
      }),
    )
    const refused = opened.flatMap(end => (end.status === 'rejected' ? [end.reason] : []))
    expect(new Set(refused.map(reason => `${reason}`))).toEqual(
      new Set(['Rejection: Cannot open task: too many are open']),
    )
    expect(refused.length).toBe(70)
    const counted = await askServer<{ agent: string; turns: string }>(
      'SELECT agent, count(*) AS turns FROM turns GROUP BY agent ORDER BY agent',
      schemaOf(url),
    )
    expect(counted).toEqual([
      { agent: 'bounded', turns: '10' },
      { agent: 'tasks', turns: '20' },
    ])
    for (let round = 0; round < 10; round += 1) {
      const shares = { maxPerGroup: 4, usedByGroup: new Map() }
      const leased = await Promise.all(
        stores.map((store, at) => store.leaseTurns({ ...request, holder: `worker ${at}`, shares })),
      )
      const held = await askServer<{ agent: string; held: string }>(
        'SELECT agent, count(*) AS held FROM turns WHERE lease_owner IS NOT NULL GROUP BY agent',
        schemaOf(url),
      )
      for (const each of held) expect(Number(each.held)).toBeLessThanOrEqual(4)
      const release = (turn: Turn, store: GatewayStore) => store.release(turn, { dueAt: 0, isUncounted: true })
      await Promise.all(leased.flatMap((turns, at) => turns.map(turn => release(turn, stores[at] as GatewayStore))))
    }
    await close()
  }, 120_000)
})

const inThread = (key: string) => ({ message: { thread_source: key } })

/** Sends the parts of one sender, in eight threads, through each store in turn. Half of the senders wait for each acknowledgement. */
async function tellStory(stores: readonly GatewayStore[], sender: number): Promise<void> {
  const sending: Promise<unknown>[] = []
  for (let at = 0; at < 12; at += 1) {
    const id = `${sender}-${at}`
    const admitted = stores[at % stores.length]?.admit(sketchIntake(id, inThread(`story ${sender % 8}`)), 'c')
    if (sender % 2 === 0) await admitted
    else sending.push(Promise.resolve(admitted))
  }
  await Promise.all(sending)
}

async function answerAll(store: GatewayStore, holder: string, isOver: () => boolean): Promise<readonly string[]> {
  const ids: string[] = []
  while (!isOver()) {
    const turns = await store.leaseTurns({ ...request, holder, shares: { maxPerGroup: 32, usedByGroup: new Map() } })
    const commit = async (turn: Turn) => {
      await store.commit(turn, sketchAnswer(turn, 'hello'))
      ids.push(turn.content.id)
    }
    const ends = await Promise.allSettled(turns.map(commit))
    for (const end of ends) if (end.status === 'rejected' && !(end.reason instanceof LeaseLost)) throw end.reason
  }
  return ids
}

async function untilAnswered(store: GatewayStore, count: number): Promise<void> {
  while ((await store.count()).messages.answered < count) await delay(50)
}
