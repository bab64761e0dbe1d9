import { DatabaseSync } from 'node:sqlite'
import type { Delivery, Settlement, Turn } from '@postern/core'
import { LeaseLost } from '@postern/core'
import { sketchAnswer, sketchIntake } from '@postern/testing'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { openTestDesk } from '../test/open-test-desk.ts'

/** What peers, workers and time may do, each with a number to choose with. */
const acts = ['admit', 'leaseTurns', 'commit', 'release', 'expire', 'leaseDeliveries', 'settle'] as const
type Act = (typeof acts)[number]
type Step = readonly [Act, number]

const leaseMs = 1_000
const threadCount = 3
const messageCount = 12

type Tested = Awaited<ReturnType<typeof openTestDesk>>

/** Some workers without a plan, who also come back with work they lost long ago; and the account of what was acknowledged. */
class Bystander {
  readonly admitted = new Set<string>()
  readonly committed: Turn[] = []
  readonly delivered: Delivery[] = []
  readonly #turns: Turn[] = []
  readonly #deliveries: Delivery[] = []
  readonly #tested: Tested

  constructor(tested: Tested) {
    this.#tested = tested
  }

  async take([act, choice]: Step): Promise<void> {
    const { desk, now, advance } = this.#tested
    const request = { holder: `worker ${choice % 2}`, limit: 1 + (choice % 3), leaseMs }
    const steps: Readonly<Record<Act, () => Promise<unknown>>> = {
      admit: () => this.#admit(choice % messageCount),
      leaseTurns: async () => void this.#turns.push(...(await desk.leaseTurns(request))),
      commit: () => this.#commit(pick(this.#turns, choice)),
      release: () => this.#release(pick(this.#turns, choice), now() + (choice % 5)),
      expire: async () => advance(leaseMs),
      leaseDeliveries: async () =>
        void this.#deliveries.push(...(await desk.leaseDeliveries({ ...request, rank: 'answer' }))),
      settle: () => this.#settle(pick(this.#deliveries, choice), choice),
    }
    await steps[act]()
  }

  async #admit(index: number): Promise<void> {
    const id = `m${index}`
    const message = { thread_id: `thread ${index % threadCount}` }
    await this.#tested.desk.admit(sketchIntake(id, { message }), 'c')
    this.admitted.add(id)
  }

  async #commit(turn: Turn | undefined): Promise<void> {
    if (!turn) return
    const done = await unlessLost(this.#tested.desk.commit(turn, sketchAnswer(turn, 'hello', ['x', 'y'])))
    if (done) this.committed.push(turn)
  }

  async #release(turn: Turn | undefined, dueAt: number): Promise<void> {
    if (turn) await unlessLost(this.#tested.desk.release(turn, { dueAt }))
  }

  async #settle(delivery: Delivery | undefined, choice: number): Promise<void> {
    if (!delivery) return
    const later: Settlement = { state: 'later', dueAt: this.#tested.now() + (choice % 500), error: 'busy' }
    const settlement: Settlement = choice % 2 ? later : { state: 'sent' }
    const done = await unlessLost(this.#tested.desk.settle(delivery, settlement))
    if (done && settlement.state === 'sent') this.delivered.push(delivery)
  }

  /** Works until nothing is left. */
  async finish(): Promise<void> {
    while ((await this.#tested.desk.nextDue()) !== undefined) {
      this.#tested.advance(leaseMs)
      for (const turn of await this.#tested.desk.leaseTurns({ holder: 'last', limit: 50, leaseMs }))
        await this.#commit(turn)
      const deliveries = await this.#tested.desk.leaseDeliveries({ holder: 'last', limit: 50, leaseMs, rank: 'answer' })
      for (const delivery of deliveries) await this.#settle(delivery, 0)
    }
  }
}

function pick<T>(from: readonly T[], choice: number): T | undefined {
  return from[choice % Math.max(1, from.length)]
}

async function unlessLost(act: Promise<void>): Promise<boolean> {
  try {
    await act
    return true
  } catch (error) {
    if (error instanceof LeaseLost) return false
    throw error
  }
}

function groupBy<T>(
  items: readonly T[],
  nameOf: (item: T) => string,
): Readonly<Record<string, readonly T[] | undefined>> {
  return Object.groupBy(items, nameOf)
}

function expectAccount({ admitted, committed, delivered }: Bystander): void {
  expect(committed.map(({ content }) => content.id).toSorted()).toEqual([...admitted].toSorted())
  for (const turns of Object.values(groupBy(committed, turn => turn.content.thread_id))) {
    const numbers = turns?.map(({ message }) => message) ?? []
    expect(numbers, 'turns of a thread end in the order they came').toEqual(numbers.toSorted((a, b) => a - b))
  }
  expect(delivered).toHaveLength(committed.length * 2)
  for (const lane of Object.values(groupBy(delivered, ({ message, to }) => `${message.thread_id} → ${to}`))) {
    const ids = lane?.map(({ id }) => Number(id)) ?? []
    expect(ids, 'deliveries of a lane are sent in the order they were caused').toEqual(ids.toSorted((a, b) => a - b))
    expect(new Set(ids).size).toBe(ids.length)
  }
}

/** The rows point at each other as the schema says, and the running totals are those of the rows. */
function expectSoundFile(file: string): void {
  const db = new DatabaseSync(file, { readOnly: true })
  const totals = db
    .prepare("SELECT name, value FROM counters WHERE value <> 0 AND name <> 'refusals' ORDER BY name")
    .all()
  const counted = db
    .prepare(
      `SELECT 'deliveries.' || state AS name, count(*) AS value FROM deliveries GROUP BY state
       UNION ALL SELECT 'messages.' || coalesce(w.state, 'ignored'), count(*)
         FROM messages m LEFT JOIN turns w ON w.message = m.number GROUP BY 1 ORDER BY 1`,
    )
    .all()
  expect(totals).toEqual(counted)
  expect(db.prepare('PRAGMA foreign_key_check').all()).toEqual([])
  expect(db.prepare('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' })
  db.close()
}

test('whatever comes in between, nothing is lost, nothing is done twice, and every thread and lane keeps its order', async () => {
  const step = fc.tuple(fc.constantFrom(...acts), fc.nat(1_000))
  // Steps of one burst are asked for at once and meet in one transaction.
  const bursts = fc.array(fc.array(step, { minLength: 1, maxLength: 6 }), { minLength: 5, maxLength: 40 })
  await fc.assert(
    fc.asyncProperty(bursts, async plan => {
      const tested = await openTestDesk()
      const bystander = new Bystander(tested)
      for (const burst of plan) await Promise.all(burst.map(each => bystander.take(each)))
      await bystander.finish()
      expectAccount(bystander)
      expectSoundFile(tested.file)
      await tested.desk.close()
    }),
    { numRuns: 30 },
  )
})
