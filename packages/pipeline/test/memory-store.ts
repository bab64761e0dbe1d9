// Implements the store of a worker in memory, and records its calls.
import { EventEmitter } from 'node:events'
import type { NormalizedResponse } from '@postern/message'
import { noLog } from '@postern/message'
import type { TurnNote } from '../src/ports/records/note.ts'
import type { Answer } from '../src/ports/records/work/answer.ts'
import type { Delivery } from '../src/ports/records/work/delivery.ts'
import type { Settlement } from '../src/ports/records/work/settlement.ts'
import type { Turn } from '../src/ports/records/work/turn.ts'
import type { ResponseRecord } from '../src/ports/store/lookup-store.ts'
import type { Store } from '../src/ports/store/store.ts'
import type { WorkerSystem } from '../src/worker/pools/worker-options.ts'
import { message } from './messages.ts'

/** The calls that a worker makes to its store, in order. */
interface StoreLog {
  readonly interimAnswers: {
    readonly createTurn: Turn
    readonly answer: Answer & { readonly response: NormalizedResponse }
  }[]
  readonly commits: { readonly turn: Turn; readonly answer: Answer }[]
  readonly releases: { readonly turn: Turn; readonly dueAt: number; readonly isUncounted?: boolean | undefined }[]
  readonly settlements: { readonly delivery: Delivery; readonly settlement: Settlement }[]
  readonly renewedWork: (Turn | Delivery)[]
  readonly isolatedTurns: Turn[]
  readonly notes: { readonly turn: Turn; readonly notes: readonly TurnNote[] }[]
}

export interface MemoryStore extends StoreLog {
  readonly store: Store
  addTurns(...turns: readonly Turn[]): void
  /** Adds turns like `addTurns`, but without a notice. */
  addTurnsSilently(...turns: readonly Turn[]): void
  addDeliveries(...deliveries: readonly Delivery[]): void
}

export interface MemoryStoreOptions {
  /** Runs before the store returns leased turns. */
  readonly beforeLease?: () => Promise<void>
  readonly nextDue?: () => Promise<number | undefined>
}

/** Creates a store with only the methods that a worker calls; any other call is a bug and throws. Leases never expire. */
export function createMemoryStore(options: MemoryStoreOptions = {}): MemoryStore {
  const { beforeLease = async () => {}, nextDue = async () => undefined } = options
  const queuedWork = { turns: [] as Turn[], deliveries: [] as Delivery[] }
  const log: StoreLog = {
    interimAnswers: [],
    commits: [],
    releases: [],
    settlements: [],
    renewedWork: [],
    isolatedTurns: [],
    notes: [],
  }
  const events = new EventEmitter()
  const store: Partial<Store> = {
    async leaseTurns({ limit }) {
      const leasedTurns = queuedWork.turns.splice(0, limit)
      if (leasedTurns.length > 0) await beforeLease()
      return leasedTurns
    },
    leaseDeliveries: async ({ limit, rank }) => (rank === 'answer' ? queuedWork.deliveries.splice(0, limit) : []),
    leaseBroadcasts: async () => [],
    commit: async (turn, answer) => void log.commits.push({ turn, answer }),
    storeInterimAnswer: async (turn, answer) => void log.interimAnswers.push({ createTurn: turn, answer }),
    findAnswer: async number => findInterimAnswer(log, number),
    release: async (turn, { dueAt, isUncounted }) => void log.releases.push({ turn, dueAt, isUncounted }),
    settle: async (delivery, settlement) => void log.settlements.push({ delivery, settlement }),
    noteWaiting: async () => undefined,
    noteAlone: async turn => void log.isolatedTurns.push(turn),
    noteAttempt: async () => undefined,
    note: async (turn, notes) => void log.notes.push({ turn, notes }),
    renew: async work => void log.renewedWork.push(work),
    findNextDueAt: nextDue,
    readHistory: async () => [],
    readNotes: async () => [],
    readState: async () => undefined,
    notify: (topic, payload) => void events.emit(topic, payload),
    listen(topic, listener) {
      events.on(topic, listener)
      return () => void events.off(topic, listener)
    },
  }
  return {
    ...log,
    store: store as Store,
    addTurns(...turns) {
      queuedWork.turns.push(...turns)
      events.emit('work')
    },
    addTurnsSilently(...turns) {
      queuedWork.turns.push(...turns)
    },
    addDeliveries(...deliveries) {
      queuedWork.deliveries.push(...deliveries)
      events.emit('work')
    },
  }
}

function findInterimAnswer({ interimAnswers }: StoreLog, message: number): ResponseRecord | undefined {
  const interimAnswer = interimAnswers.find(({ createTurn: turn }) => turn.message === message)
  if (!interimAnswer) return undefined
  const { createTurn: turn, answer } = interimAnswer
  const { agent, via, content, target } = turn
  return { response: answer.response, rendering: answer.rendering, message: content, agent, via, target }
}

export function turn(number: number): Turn {
  return {
    message: number,
    token: 1,
    attempt: 1,
    crashes: 0,
    agent: 'echo',
    via: 'activitypub',
    content: message({ id: `https://peer.test/activities/${number}` }),
    thread: number,
    target: null,
    flags: [],
    correlationId: `c${number}`,
  }
}

export function delivery(id: string): Delivery {
  return {
    id,
    token: 1,
    attempt: 1,
    queuedAt: 0,
    via: 'activitypub',
    agent: 'echo',
    to: 'https://peer.test/inbox',
    target: null,
    correlationId: 'c1',
    message: message(),
  }
}

/** Creates a system whose clock stands still unless `now` is given, and whose random bytes are constant. */
export function createQuietSystem(members: Partial<WorkerSystem> = {}): WorkerSystem {
  return {
    now: () => 0,
    randomBytes: count => new Uint8Array(count),
    sleep: sleepInRealTime,
    log: noLog,
    ...members,
  }
}

function sleepInRealTime(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    const end = () => {
      clearTimeout(timer)
      resolve()
    }
    const timer = setTimeout(end, ms)
    if (signal?.aborted) end()
    else signal?.addEventListener('abort', end, { once: true })
  })
}

/** Creates a promise and the function that fulfils it. */
export function createGate(): { readonly opened: Promise<void>; open(): void } {
  const { promise, resolve } = Promise.withResolvers<void>()
  return { opened: promise, open: () => resolve() }
}
