// Opens the store under test with a clock of its own, and sketches messages and answers.
import type { NormalizedResponse, ResponseStatus } from '@postern/message'
import { isoTime } from '@postern/message'
import type { Answer, Delivery, Intake, PlannedDelivery, Store, Turn } from '@postern/pipeline'

export interface StoreUnderTest {
  readonly store: Store
  /** Returns the store's clock, ms. It moves only by `advance`. */
  now(): number
  advance(ms: number): void
  /** Opens a second store on the durable data of the first one, as after a crash. Absent for stores in memory. */
  reopen?(): Promise<Store>
}

export type OpenStore = () => Promise<StoreUnderTest>

/** Runs a test on a fresh store that is closed afterwards. */
export function withStore(
  openStore: OpenStore,
  runTest: (storeSetup: StoreUnderTest) => Promise<void>,
): () => Promise<void> {
  return async () => {
    const storeSetup = await openStore()
    try {
      await runTest(storeSetup)
    } finally {
      await storeSetup.store.close()
    }
  }
}

export const leaseMs = 30_000

export interface IntakeSketch extends Partial<Omit<Intake, 'message' | 'thread'>> {
  readonly message?: Partial<Intake['message']>
  readonly thread?: Partial<Intake['thread']>
}

/** Sketches a whole intake of a message with the id `id`, in a thread of its own. The members of the sketch override the defaults. */
export function sketchIntake(id: string, sketch: IntakeSketch = {}): Intake {
  const { message, thread, ...members } = sketch
  return {
    agent: 'echo',
    duplicateKey: `key of ${id}`,
    aliases: [],
    proofs: [{ kind: 'jwt', verdict: 'pass', key_id: 'k1' }],
    raw: { bytes: new TextEncoder().encode(JSON.stringify({ id })), form: 'json' },
    target: { answerTo: id },
    disposition: 'answer',
    ...members,
    thread: { scope: 'public', references: [], ...thread },
    message: {
      id,
      thread_source: `thread of ${id}`,
      sender: { address: '@ada@peer.test', display_name: 'Ada', auth_method: 'none', verified: false },
      recipient: '@echo@agents.test',
      parts: [{ kind: 'text', mime: 'text/plain', content: `words of ${id}` }],
      recipient_capabilities: { mention_relay: { kind: 'none' } },
      received_via: 'a2a',
      received_at: isoTime(Date.UTC(2026, 0, 1)),
      ...message,
    },
  }
}

export function inThread(source: string, sketch: IntakeSketch = {}): IntakeSketch {
  return { ...sketch, message: { ...sketch.message, thread_source: source } }
}

/** Admits messages one after another and returns their numbers. */
export async function admitAll(store: Store, intakes: readonly Intake[]): Promise<readonly number[]> {
  const numbers: number[] = []
  for (const intake of intakes) numbers.push((await store.admit(intake, `c-${intake.message.id}`)).message)
  return numbers
}

export function leaseTurns(store: Store, limit = 100): Promise<readonly Turn[]> {
  return store.leaseTurns({ holder: 'worker', limit, leaseMs })
}

export function leaseDeliveries(store: Store, limit = 100): Promise<readonly Delivery[]> {
  return store.leaseDeliveries({ holder: 'worker', limit, leaseMs, rank: 'answer' })
}

/** Leases the only turn that is due. @throws Error if no turn or more than one is due */
export async function leaseOnlyTurn(store: Store): Promise<Turn> {
  return onlyOf(await leaseTurns(store), 'due turn')
}

export async function leaseOnlyDelivery(store: Store): Promise<Delivery> {
  return onlyOf(await leaseDeliveries(store), 'due delivery')
}

function onlyOf<T>(items: readonly T[], label: string): T {
  const [onlyItem] = items
  if (onlyItem === undefined || items.length > 1) throw new Error(`expected one ${label}, found ${items.length}`)
  return onlyItem
}

export function sketchResponse(turn: Turn, text: string, status: ResponseStatus = 'completed'): NormalizedResponse {
  return {
    id: `answer to ${turn.content.id}`,
    thread_id: turn.content.thread_id,
    in_reply_to: turn.content.id,
    sender: turn.content.recipient,
    parts: [{ kind: 'text', mime: 'text/markdown', content: text }],
    status,
    created_at: isoTime(Date.UTC(2026, 0, 2)),
  }
}

/** Sketches an answer with the text `text` to `recipients`. */
export function sketchAnswer(
  turn: Turn,
  text: string,
  recipients: readonly string[] = [],
  members: Partial<Answer> = {},
): Answer {
  return { response: sketchResponse(turn, text), deliveries: recipients.map(toDeliveryPlan), ...members }
}

export function toDeliveryPlan(to: string): PlannedDelivery {
  return { to, target: { inbox: to } }
}

export function sayNothing(): Answer {
  return { deliveries: [] }
}

export function messageIdsOf(turns: readonly Turn[]): readonly string[] {
  return turns.map(({ content }) => content.id)
}

export function recipientsOf(deliveries: readonly Delivery[]): readonly string[] {
  return deliveries.map(({ to, response }) => `${response?.in_reply_to ?? 'handshake'} → ${to}`)
}
