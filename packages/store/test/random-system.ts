// Drives a store with random steps of endpoints, workers, agents and people.
import { LeaseLost, Rejection } from '@postern/message'
import type { Delivery, Intake, PersonIdentity, PlannedAction, RequirementDecision, Turn } from '@postern/pipeline'
import { sketchResponse } from '@postern/testing'
import type { GatewayStore } from '../src/index.ts'
import { createDice } from './dice.ts'
import {
  answerIdOf,
  identityOf,
  people,
  sketchAgents,
  sketchEditOf,
  sketchMessage,
  sketchRandomAnswer,
  sketchRandomNote,
  sketchRandomPost,
  textDigestOf,
} from './random-sketches.ts'

const leaseMs = 10_000

export interface SystemStore {
  readonly store: GatewayStore
  now(): number
  advance(ms: number): void
}

async function tolerate<Value>(work: Promise<Value>): Promise<Value | undefined> {
  try {
    return await work
  } catch (error) {
    if (error instanceof LeaseLost || error instanceof Rejection) return undefined
    throw error
  }
}

/** Endpoints, workers, agents, operators and people that act on a store at random, in any order and at the same time. */
export class Randomness {
  /** The steps so far, for the analysis of a failure. */
  readonly trace: string[] = []
  readonly #tested: SystemStore
  readonly #dice: ReturnType<typeof createDice>
  readonly #said: Intake[] = []
  readonly #runs: Turn[] = []
  readonly #sends: Delivery[] = []
  readonly #answered: Turn[] = []
  readonly #ways: Readonly<Record<string, () => Promise<unknown> | unknown>>
  readonly #names: readonly string[]

  constructor(tested: SystemStore, seed: number) {
    this.#tested = tested
    this.#dice = createDice(seed)
    this.#ways = { ...this.#endpoints(), ...this.#workers(), ...this.#senders(), ...this.#others() }
    const often = ['admit', 'admit', 'burst', 'burst', 'edit', 'edit', 'lease', 'lease', 'lease', 'commit', 'commit']
    this.#names = [...Object.keys(this.#ways), ...often, 'leaseDeliveries', 'settle', 'settle']
  }

  /** Takes one step, or three at once. */
  async step(): Promise<void> {
    const { oneIn, pick } = this.#dice
    const chosen = Array.from({ length: oneIn(5) ? 3 : 1 }, () => pick(this.#names))
    this.trace.push(chosen.join(' + '))
    await Promise.all(chosen.map(name => this.#ways[name]?.()))
  }

  /** Works until nothing is left. Returns false if that never happens. */
  async finish(): Promise<boolean> {
    const { store, advance } = this.#tested
    const request = { holder: 'last', limit: 50, leaseMs }
    for (let round = 0; round < 400; round += 1) {
      advance(4 * 3_600_000)
      const turns = await store.leaseTurns(request)
      for (const turn of turns) await this.#commit(turn)
      const broadcasts = await store.leaseBroadcasts(request)
      for (const each of broadcasts) await store.expand(each, [], { after: each.lastPeer, isDone: true })
      const ranks = ['answer', 'broadcast'] as const
      const sends = (await Promise.all(ranks.map(rank => store.leaseDeliveries({ ...request, rank })))).flat()
      for (const send of sends) await store.settle(send, { state: 'sent' })
      if (turns.length + broadcasts.length + sends.length === 0) return true
    }
    return false
  }

  #draw(): Intake {
    return sketchMessage(this.#dice, this.#tested.now(), this.#said)
  }

  async #admit(intake: Intake): Promise<void> {
    if (await tolerate(this.#tested.store.admit(intake, 'c'))) this.#said.push(intake)
  }

  async #commit(turn: Turn): Promise<void> {
    const answer = sketchRandomAnswer(this.#dice, turn, this.#tested.now())
    await tolerate(this.#tested.store.commit(turn, answer))
    if (answer.response) this.#answered.push(turn)
  }

  #pickOne<Item>(list: readonly Item[]): Item | undefined {
    return list.length > 0 ? this.#dice.pick(list) : undefined
  }

  #endpoints() {
    const { store, advance } = this.#tested
    const { pick, oneIn } = this.#dice
    return {
      admit: () => this.#admit(this.#draw()),
      burst: () => Promise.all([0, 1, 2].map(() => this.#admit(this.#draw()))),
      again: () => this.#said.length > 0 && tolerate(store.admit(pick(this.#said), 'c')),
      edit: () => {
        const of = this.#pickOne(this.#said.slice(-8))
        return of?.authorship && tolerate(store.admit(sketchEditOf(this.#dice, of), 'c'))
      },
      withdraw: () => {
        const of = this.#pickOne(this.#said.slice(-20))
        return of?.authorship && store.withdraw('activitypub', [{ kind: 'forget', ...of.authorship }])
      },
      leave: () => {
        const peer = identityOf(pick(people), 'activitypub').subject
        return oneIn(4) && store.withdraw('activitypub', [{ kind: oneIn(2) ? 'forget_peer' : 'end_relations', peer }])
      },
      relate: () => {
        const intake = this.#draw()
        const peer = intake.authorship?.author
        if (!peer) return undefined
        const relation = oneIn(3) ? 'blocked_by' : 'follower'
        const effect = oneIn(3)
          ? ({ kind: 'unrelate', relation, peer } as const)
          : ({ kind: 'relate', relation, peer, target: {} } as const)
        return this.#admit({
          ...intake,
          disposition: 'keep',
          effects: [effect],
          deliveries: [{ to: peer, target: {}, peer }],
        })
      },
      pass: () => advance(pick([100, 600, 3_000, 11_000])),
    }
  }

  #workers() {
    const { store, now } = this.#tested
    const { pick, oneIn, roll, createName } = this.#dice
    const runs = this.#runs
    const ofFediverse = () => this.#pickOne(runs.filter(({ via }) => via === 'activitypub'))
    return {
      lease: async () => {
        const shares = { maxPerGroup: 3, usedByGroup: new Map<string, number>() }
        runs.push(...(await store.leaseTurns({ holder: `w${roll(2)}`, limit: 1 + roll(4), leaseMs, shares })))
      },
      commit: () => runs.length > 0 && this.#commit(runs.splice(roll(runs.length), 1)[0] as Turn),
      stale: () => runs.length > 0 && this.#commit(pick(runs)),
      say: async () => {
        const turn = ofFediverse()
        if (!turn) return
        const response = { ...sketchResponse(turn, `meanwhile ${createName()}`, 'working'), id: answerIdOf(turn) }
        await tolerate(store.storeInterimAnswer(turn, { response, deliveries: [], isRevision: true }))
      },
      release: () => {
        const turn = this.#pickOne(runs)
        return turn && tolerate(store.release(turn, { dueAt: now() + roll(3_000), isUncounted: oneIn(2) }))
      },
      renew: () => runs.length > 0 && tolerate(store.renew(pick(runs), leaseMs)),
      note: () => runs.length > 0 && tolerate(store.note(pick(runs), [sketchRandomNote(this.#dice)])),
      wait: () => runs.length > 0 && store.noteWaiting(pick(runs), oneIn(2)),
      background: () => {
        const turn = ofFediverse()
        const [author, at] = [{ address: '@x@y.test', display_name: undefined }, '2026-01-01T00:00:00.000Z']
        const principal = identityOf(pick(people), 'activitypub').subject
        return (
          turn && tolerate(store.addBackground(turn, [{ nativeId: createName(), principal, author, parts: [], at }]))
        )
      },
    }
  }

  #senders() {
    const { store, now } = this.#tested
    const { pick, oneIn, roll, createName } = this.#dice
    const sends = this.#sends
    return {
      leaseDeliveries: async () => {
        const rank = oneIn(3) ? 'broadcast' : 'answer'
        sends.push(...(await store.leaseDeliveries({ holder: 'w', limit: 1 + roll(5), leaseMs, rank })))
      },
      settle: () => {
        const [delivery] = sends.splice(roll(sends.length), 1)
        const ends = [
          { state: 'later', dueAt: now() + roll(5_000), reason: 'unavailable', error: 'e' },
          { state: 'dead', reason: 'refused', error: 'e' },
          { state: 'sent' },
        ] as const
        return delivery && tolerate(store.settle(delivery, pick(ends)))
      },
      expand: async () => {
        const peer = identityOf(pick(people), 'activitypub').subject
        const planned = [
          { to: 'shared inbox', target: {} },
          { to: 'one', target: {}, peer },
        ]
        for (const each of await store.leaseBroadcasts({ holder: 'w', limit: 2, leaseMs })) {
          await tolerate(store.expand(each, planned, { after: each.lastPeer, isDone: oneIn(2) }))
        }
      },
      control: async () => {
        const delivery = this.#pickOne(await store.listDeliveries({ limit: 20 }))
        const change = this.#pickOne([store.retryDelivery, store.dropDelivery, store.dismissDelivery])
        if (delivery && change) await change(delivery.id)
      },
      bounce: async () => {
        const delivery = this.#pickOne(await store.listDeliveries({ limit: 20, state: 'sent' }))
        const intake = this.#draw()
        if (!delivery || intake.task) return
        const retry = oneIn(2) ? { at: now() + 100, attempts: 5 } : undefined
        const suppresses = oneIn(2) || undefined
        const bounced = { kind: 'bounced', delivery: delivery.id, error: createName(), suppresses, retry } as const
        await this.#admit({ ...intake, disposition: 'keep', effects: [bounced] })
      },
    }
  }

  #others() {
    const { store, now } = this.#tested
    const { pick, oneIn, roll, createName } = this.#dice
    const anybody = (): PersonIdentity => identityOf(pick(people), pick(['activitypub', 'email'] as const))
    return {
      act: () => store.storeActions([this.#drawAct()], 'c'),
      cancel: () => {
        const key = { owner: `owner ${pick(people)}`, id: `task ${roll(4)} ${pick(sketchAgents)}` }
        const { duplicateKey: _, task: _task, blobs: _blobs, queueMode: _lane, ...intake } = this.#draw()
        const message = { ...intake.message, kind: 'cancel' as const, parts: [] }
        const describe = (question: string) => ({ ...intake, message: { ...message, in_reply_to: question } })
        return store.cancelTask(key, oneIn(3) ? undefined : { correlationId: 'c', describe })
      },
      expire: () => {
        const owner = `owner ${pick(people)}`
        const rules = [
          { unchangedSince: now() - roll(30_000) },
          { owner, maxTasks: 1 },
          { owner, maxBytes: 200 },
        ] as const
        return store.expireTasks({ ...pick(rules), limit: 5 })
      },
      decide: async () => {
        const requirement = this.#pickOne(await store.listRequirements({ limit: 20 }))
        if (!requirement) return
        const { digest, kind } = requirement
        const decision: RequirementDecision = {
          digest,
          kind,
          outcome: pick(['granted', 'declined']),
          resolver: { method: 'link' },
        }
        if (oneIn(2)) await store.resolveRequirement(decision, 'c')
        else await this.#admit({ ...this.#draw(), resolution: decision })
      },
      link: async () => {
        const [agent, asker, target, message] = [pick(sketchAgents), anybody(), anybody(), 1_000_000 + roll(1_000_000)]
        const digest = textDigestOf(createName())
        await store.requestLink({ agent, asker, target, message, digest, notice: createName() })
        await store.confirmLink({ agent, asker, digest, message: message + 1, notice: createName() })
        await store.findPerson(agent, target)
      },
      unlink: () => store.unlink({ agent: pick(sketchAgents), identity: anybody(), other: anybody() }),
      forgetPerson: () => {
        const except = oneIn(3) ? this.#runs[0]?.message : undefined
        return (
          oneIn(3) &&
          store.forgetPerson({
            agent: oneIn(2) ? pick(sketchAgents) : undefined,
            addresses: [anybody()],
            exceptMessage: except,
          })
        )
      },
      forgetTasks: () => oneIn(3) && store.forgetTasks(`owner ${pick(people)}`),
      transcript: async () => {
        const of = this.#pickOne(this.#said)
        if (!of) return
        const { agent, message, thread } = of
        const key = await store.transcript.openThread('owner', { transport: 'x', key: `k${roll(3)}` })
        // Another step may forget its owner in the meantime.
        await tolerate(
          store.transcript.bindStore(key, {
            agent,
            via: message.received_via,
            scope: thread.scope,
            key: message.thread_source,
          }),
        )
        await store.transcript.read(key)
        if (oneIn(6)) await store.transcript.forgetOwner('owner')
      },
    }
  }

  /** Draws a post, or a change of an answer on the fediverse, because other channels allow no changes. */
  #drawAct(): PlannedAction {
    const { oneIn, pick, createName } = this.#dice
    const turn = this.#pickOne(this.#answered.filter(({ via }) => via === 'activitypub'))
    if (!turn || oneIn(3)) return sketchRandomPost(this.#dice, pick(sketchAgents))
    const planned = { deliveries: [{ to: 'some inbox', target: {} }] }
    const response = { ...sketchResponse(turn, `edited ${createName()}`), id: answerIdOf(turn) }
    return oneIn(2)
      ? { kind: 'edit', response, deliveryPlan: planned }
      : { kind: 'delete', response: response.id, deliveryPlan: planned }
  }
}
