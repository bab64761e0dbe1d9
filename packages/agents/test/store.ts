// Opens a store with messages of Alice, and runs agents on its turns.
import { noLog } from '@postern/message'
import type { Intake, PlannedDelivery, RetryPolicy, RunningAgent, Store, Turn, TurnContext } from '@postern/pipeline'
import { createSlidingWindowPolicy, runTurn } from '@postern/pipeline'
import { openSqliteStore } from '@postern/store'
import { sketchedChannels } from '@postern/testing'
import { onTestFinished } from 'vitest'
import { testMessage } from './gateway.ts'

interface TestStore {
  readonly store: Store
  /** Admits a message of Alice in one thread. */
  sendText(text: string): Promise<number>
  /** Leases the turns that are ready. */
  lease(): Promise<readonly Turn[]>
  /** Leases the one turn that is ready and runs it. */
  runNextTurn(handle: RunningAgent['agent']['handle'] | RunningAgent, signal?: AbortSignal): Promise<void>
  turnContext(running: RunningAgent): TurnContext & { readonly store: Store }
  /** Advances the clock, ms. */
  advanceClock(ms: number): void
  now(): number
  findRecord(text: string): Promise<NonNullable<Awaited<ReturnType<Store['findMessage']>>>>
}

const retry: RetryPolicy = { initialDelayMs: 1_000, maxDelayMs: 60_000, giveUpAfterMs: 3_600_000 }
const startTime = Date.UTC(2026, 0, 1)

/** Opens a real store in memory, with a clock that tests advance and a channel that addresses everything to one inbox. */
export async function openAgentStore({ maxCrashes = 3 } = {}): Promise<TestStore> {
  let time = startTime
  const now = () => time
  const store = await openSqliteStore({ channels: sketchedChannels, path: ':memory:', now, log: noLog })
  onTestFinished(() => store.close())
  const deliveries: readonly PlannedDelivery[] = [{ to: 'https://peer.test/inbox', target: null }]
  let randomCallCount = 0
  const randomBytes = (count: number) => {
    randomCallCount += 1
    return new Uint8Array(count).fill(randomCallCount)
  }
  const turnContext: TestStore['turnContext'] = running => ({
    store,
    results: store,
    system: { now, log: noLog, randomBytes },
    retry,
    maxCrashes,
    findAgent: name => (name === 'subject' ? running : undefined),
    channels: [{ descriptor: { name: 'a2a', speaker: {} }, address: () => ({ deliveries, aliases: [] }) } as never],
    presentParts: parts => [...parts],
    readAttachment: async () => ({ bytes: new Uint8Array() }),
  })
  const lease = () => store.leaseTurns({ holder: 'test', limit: 10, leaseMs: 60_000 })
  return {
    store,
    lease,
    now,
    turnContext,
    advanceClock(ms) {
      time += ms
    },
    async sendText(text) {
      const { message } = await store.admit(createIntake(text, now()), `correlation-${text}`)
      return message
    },
    async runNextTurn(handle, signal = new AbortController().signal) {
      const [turn, ...otherTurns] = await lease()
      if (!turn || otherTurns.length > 0) throw new Error(`expected one turn, got ${turn ? 1 + otherTurns.length : 0}`)
      await runTurn(turn, turnContext(toRunningAgent(handle)), signal)
    },
    async findRecord(text) {
      const record = await store.findMessage(nameMessage(text))
      if (!record) throw new Error(`nobody said "${text}"`)
      return record
    },
  }
}

export function toRunningAgent(handle: RunningAgent['agent']['handle'] | RunningAgent): RunningAgent {
  if (typeof handle !== 'function') return handle
  return { agent: { handle }, history: createSlidingWindowPolicy(), deadlineMs: 10_000 }
}

function nameMessage(text: string): string {
  return `https://peer.test/activities/${encodeURIComponent(text)}`
}

function createIntake(text: string, receivedAt: number): Intake {
  const {
    raw: _raw,
    history: _history,
    thread_id: thread_source,
    ...message
  } = testMessage(text, {
    id: nameMessage(text),
    received_at: new Date(receivedAt).toISOString(),
  })
  return {
    agent: 'subject',
    message: { ...message, thread_source },
    duplicateKey: text,
    thread: { scope: 'public', references: [] },
    aliases: [],
    proofs: [],
    raw: { bytes: new TextEncoder().encode('{"as":"it came"}'), form: 'json' },
    target: null,
    disposition: 'answer',
    task: { owner: 'alice', id: `task-${text}`, context: 'context-1' },
  }
}
