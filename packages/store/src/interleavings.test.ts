import { DatabaseSync } from 'node:sqlite'
import { LeaseLost } from '@postern/message'
import type { Broadcast, Delivery, DeliveryRank, PlannedBroadcast, Settlement, Turn } from '@postern/pipeline'
import { sketchAnswer, sketchDeletion, sketchIntake, sketchPost, sketchResponse } from '@postern/testing'
import { drawCount } from '@postern/testing/scale'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { openStoreUnderTest } from '../test/open-test-store.ts'

/** The steps of peers, workers and time. Each has a number that selects its objects. */
const steps = [
  'admit',
  'leaseTurns',
  'say',
  'commit',
  'release',
  'expire',
  'post',
  'delete',
  'leaseBroadcasts',
  'expand',
  'leaseDeliveries',
  'settle',
] as const
type StepName = (typeof steps)[number]
type Step = readonly [StepName, number]

const leaseMs = 1_000
const threadCount = 3
const messageCount = 12
const postCount = 4
const followers = ['ada', 'bob', 'eve', 'joe', 'zoe']

/** The progress of a leased broadcast. */
interface BroadcastExpansion {
  readonly held: Broadcast
  after: number
}

type Tested = Awaited<ReturnType<typeof openStoreUnderTest>>

/** Some workers that act at random and also return with work that they lost long ago. They record what was acknowledged. */
class Bystander {
  readonly admitted = new Set<string>()
  readonly committed: Turn[] = []
  readonly posted = new Set<string>()
  readonly deleted = new Set<string>()
  readonly delivered: Delivery[] = []
  said = 0
  readonly #turns: Turn[] = []
  readonly #spreadings: BroadcastExpansion[] = []
  readonly #deliveries: Delivery[] = []
  readonly #tested: Tested

  constructor(tested: Tested) {
    this.#tested = tested
  }

  async take([name, choice]: Step): Promise<void> {
    const { store, now, advance } = this.#tested
    const request = { holder: `worker ${choice % 2}`, limit: 1 + (choice % 3), leaseMs }
    const rank: DeliveryRank = choice % 5 < 2 ? 'answer' : 'broadcast'
    const ways: Readonly<Record<StepName, () => Promise<unknown>>> = {
      admit: () => this.#admit(choice % messageCount),
      leaseTurns: async () => void this.#turns.push(...(await store.leaseTurns(request))),
      say: () => this.#say(pick(this.#turns, choice)),
      commit: () => this.#commit(pick(this.#turns, choice)),
      release: () => this.#release(pick(this.#turns, choice), now() + (choice % 5)),
      expire: async () => advance(leaseMs),
      post: () => this.#post(`p${choice % postCount}`),
      delete: () => this.#delete(`p${choice % postCount}`),
      leaseBroadcasts: async () => this.#takeUp(await store.leaseBroadcasts(request)),
      expand: () => this.#spread(pick(this.#spreadings, choice), 1 + (choice % 4)),
      leaseDeliveries: async () => void this.#deliveries.push(...(await store.leaseDeliveries({ ...request, rank }))),
      settle: () => this.#settle(pick(this.#deliveries, choice), choice),
    }
    await ways[name]()
  }

  async #admit(index: number): Promise<void> {
    const id = `m${index}`
    const message = { thread_source: `thread ${index % threadCount}` }
    await this.#tested.store.admit(sketchIntake(id, { message }), 'c')
    this.admitted.add(id)
  }

  async #commit(turn: Turn | undefined): Promise<void> {
    if (!turn) return
    const answer = sketchAnswer(turn, 'hello', ['x', 'y'], { isRevision: true })
    if (await unlessLost(this.#tested.store.commit(turn, answer))) this.committed.push(turn)
  }

  async #say(turn: Turn | undefined): Promise<void> {
    if (!turn) return
    const response = sketchResponse(turn, 'wait', 'working')
    const { deliveries } = sketchAnswer(turn, 'wait', ['x'])
    if (await unlessLost(this.#tested.store.storeInterimAnswer(turn, { response, deliveries, isRevision: true })))
      this.said += 1
  }

  async #post(id: string): Promise<void> {
    if (this.posted.has(id)) return
    this.posted.add(id)
    const sketch = { destinations: ['x'], broadcasts: toFollowers('create'), isListed: true }
    await this.#tested.store.storeActions([sketchPost(id, 'news', sketch)], 'c')
  }

  async #delete(id: string): Promise<void> {
    if (this.posted.has(id)) this.deleted.add(id)
    await this.#tested.store.storeActions([sketchDeletion(id, ['x'], toFollowers('delete'))], 'c')
  }

  #takeUp(broadcasts: readonly Broadcast[]): void {
    this.#spreadings.push(...broadcasts.map(held => ({ held, after: held.lastQueuedPeer })))
  }

  async #spread(expansion: BroadcastExpansion | undefined, limit: number): Promise<void> {
    if (!expansion) return
    const { store } = this.#tested
    const { held, after } = expansion
    const page = await store.listRelations({ agent: held.agent, via: held.via, relation: held.relation, after, limit })
    const position = page.at(-1)?.number ?? after
    const plans = page.map(({ peer }) => ({ to: peer, target: null, peer }))
    const progress = { after: position, isDone: page.length < limit }
    if (await unlessLost(store.expand(held, plans, progress))) expansion.after = position
  }

  /** Adds the followers to whom every post goes. */
  async followAll(): Promise<void> {
    const effects = followers.map(peer => ({ kind: 'relate', relation: 'follower', peer, target: null }) as const)
    await this.#tested.store.admit(sketchIntake('follow', { disposition: 'keep', effects }), 'c')
  }

  async #release(turn: Turn | undefined, dueAt: number): Promise<void> {
    if (turn) await unlessLost(this.#tested.store.release(turn, { dueAt }))
  }

  async #settle(delivery: Delivery | undefined, choice: number): Promise<void> {
    if (!delivery) return
    const later: Settlement = {
      state: 'later',
      dueAt: this.#tested.now() + (choice % 500),
      reason: 'unavailable',
      error: 'busy',
    }
    const settlement: Settlement = choice % 2 ? later : { state: 'sent' }
    const done = await unlessLost(this.#tested.store.settle(delivery, settlement))
    if (done && settlement.state === 'sent') this.delivered.push(delivery)
  }

  /** Works until nothing is left. */
  async finish(): Promise<void> {
    const { store, advance } = this.#tested
    const request = { holder: 'last', limit: 50, leaseMs }
    while ((await store.findNextDueAt()) !== undefined) {
      advance(60_000)
      for (const turn of await store.leaseTurns(request)) await this.#commit(turn)
      for (const held of await store.leaseBroadcasts(request))
        await this.#spread({ held, after: held.lastQueuedPeer }, 10)
      for (const rank of ['answer', 'broadcast'] as const) {
        const deliveries = await store.leaseDeliveries({ ...request, rank })
        for (const delivery of deliveries) await this.#settle(delivery, 0)
      }
    }
  }
}

function toFollowers(target: string): readonly PlannedBroadcast[] {
  return [{ relation: 'follower', target }]
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

/** Expects that followers get no post twice, that all of them get each post that stays, and that all learn of each deletion. */
function expectPosts({ posted, deleted, delivered }: Bystander): void {
  for (const id of posted) {
    const of = (target: string) =>
      delivered.filter(each => each.response?.id === id && each.broadcast === target).map(({ to }) => to)
    const createRecipients = of('create')
    expect(new Set(createRecipients).size).toBe(createRecipients.length)
    if (!deleted.has(id)) expect(createRecipients.toSorted()).toEqual(followers)
    expect(of('delete').toSorted()).toEqual(deleted.has(id) ? followers : [])
  }
}

function expectAccount(bystander: Bystander): void {
  const { admitted, committed, said, delivered } = bystander
  expectPosts(bystander)
  expect(committed.map(({ content }) => content.id).toSorted()).toEqual([...admitted].toSorted())
  for (const turns of Object.values(groupBy(committed, turn => turn.content.thread_id))) {
    const numbers = turns?.map(({ message }) => message) ?? []
    expect(numbers, 'turns of a thread end in the order they came').toEqual(numbers.toSorted((a, b) => a - b))
  }
  const answers = delivered.filter(({ message }) => !message.id.startsWith('post:'))
  expect(answers).toHaveLength(committed.length * 2 + said)
  for (const lane of Object.values(groupBy(delivered, ({ message, to }) => `${message.thread_id} → ${to}`))) {
    const ids = lane?.map(({ id }) => Number(id)) ?? []
    expect(ids, 'deliveries of a lane are sent in the order they were caused').toEqual(ids.toSorted((a, b) => a - b))
    expect(new Set(ids).size).toBe(ids.length)
  }
}

/** Expects that rows refer to each other as the schema says, and that the running totals match the rows. */
function expectSoundFile(file: string): void {
  const db = new DatabaseSync(file, { readOnly: true })
  const totals = db
    .prepare(
      "SELECT name, value FROM counters WHERE value <> 0 AND name NOT LIKE 'refusals%' AND name <> 'starts' ORDER BY name",
    )
    .all()
  const counted = db
    .prepare(
      `SELECT 'deliveries.' || state AS name, count(*) AS value FROM deliveries GROUP BY state
       UNION ALL SELECT 'messages.' || coalesce(w.state, 'ignored'), count(*)
         FROM messages m LEFT JOIN turns w ON w.message = m.seq WHERE m.kind = 'message' GROUP BY 1 ORDER BY 1`,
    )
    .all()
  expect(totals).toEqual(counted)
  const listed = db.prepare("SELECT coalesce(sum(value), 0) AS value FROM agent_totals WHERE name = 'listed'").get()
  expect(listed).toEqual(db.prepare('SELECT count(*) AS value FROM messages WHERE is_listed = 1').get())
  expect(db.prepare('PRAGMA foreign_key_check').all()).toEqual([])
  expect(db.prepare('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' })
  db.close()
}

test('in any interleaving the store loses nothing, repeats nothing, and keeps the order per thread and destination', async () => {
  const step = fc.tuple(fc.constantFrom(...steps), fc.nat(1_000))
  // Steps of one burst begin at once and share one transaction.
  const bursts = fc.array(fc.array(step, { minLength: 1, maxLength: 6 }), { minLength: 5, maxLength: 40 })
  await fc.assert(
    fc.asyncProperty(bursts, async plan => {
      const tested = await openStoreUnderTest()
      const bystander = new Bystander(tested)
      await bystander.followAll()
      for (const burst of plan) await Promise.all(burst.map(each => bystander.take(each)))
      await bystander.finish()
      expectAccount(bystander)
      expectSoundFile(tested.file)
      await tested.store.close()
    }),
    { numRuns: drawCount({ quick: 10, long: 30 }) },
  )
})
