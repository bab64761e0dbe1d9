import { randomBytes } from 'node:crypto'
import type {
  Admitted,
  ChangeKind,
  ChangeNotice,
  Delivery,
  Intake,
  IntakeTrace,
  NoticeStore,
  Settlement,
  Turn,
  TurnAttempt,
  VerifyStep,
} from '@postern/core'
import { changeKinds, findDestinationHost } from '@postern/core'
import type { GatewayStore } from '@postern/store'
import type { Config } from '../../config/schema.ts'
import type { Telemetry } from './open-telemetry.ts'
import { openTelemetry } from './open-telemetry.ts'
import type { MessageStage, StageDetails, StageListener } from './stage.ts'
import { turnKey } from './stage.ts'

/** What a store does when a stage ends. */
type Observed = Pick<GatewayStore, 'admit' | 'commit' | 'release' | 'settle'>

/** When messages were admitted that wait for their turn; of very many the oldest are forgotten, and their waiting is not told. */
const maxWaiting = 10_000

/** The same store, which tells of each stage that has ended. A listener must not throw, and costs nothing but its own time. */
export function observeStore<Store extends Observed>(store: Store, tell: StageListener, now: () => number): Store {
  const admittedAt = new Map<number, number>()
  const told = new WeakSet<IntakeTrace>()
  const tellAll = (stages: readonly MessageStage[]) => stages.forEach(tell)
  return {
    ...store,
    async admit(intake, correlationId) {
      const admitted = await store.admit(intake, correlationId)
      const at = now()
      if (admitted.outcome === 'accepted') rememberBounded(admittedAt, admitted.message, at)
      // One request may bring several messages. It was received and checked once.
      const isFirst = intake.trace !== undefined && !told.has(intake.trace)
      if (intake.trace) told.add(intake.trace)
      tellAll(describeIntake(intake, { admitted, correlationId, at, isFirst }))
      return admitted
    },
    async commit(turn, answer) {
      await store.commit(turn, answer)
      tellAll(describeTurn(turn, answer.attempt, { at: now(), admittedAt: takeOut(admittedAt, turn.message) }))
    },
    async release(turn, again) {
      await store.release(turn, again)
      tellAll(describeTurn(turn, again.attempt, { at: now(), admittedAt: takeOut(admittedAt, turn.message) }))
    },
    async settle(delivery, settlement) {
      await store.settle(delivery, settlement)
      tellAll(describeDelivery(delivery, settlement))
    },
  }
}

function rememberBounded(times: Map<number, number>, message: number, at: number): void {
  times.set(message, at)
  const [oldest] = times.keys()
  if (times.size > maxWaiting && oldest !== undefined) times.delete(oldest)
}

function takeOut(times: Map<number, number>, message: number): number | undefined {
  const at = times.get(message)
  times.delete(message)
  return at
}

interface IntakeEnd {
  readonly admitted: Admitted
  readonly correlationId: string
  readonly at: number
  readonly isFirst: boolean
}

function describeIntake(
  { trace, agent, message: { received_via: via }, proofs = [] }: Intake,
  { admitted, correlationId, at, isFirst }: IntakeEnd,
): readonly MessageStage[] {
  // What the gateway writes to itself has not come in.
  if (!trace) return []
  const { received_at: startAt, steps } = trace
  const common = { via, correlationId }
  const stages: MessageStage[] = []
  let checkedAt = startAt
  if (isFirst) {
    const describe = () => {
      const isProven = proofs.some(({ verdict }) => verdict === 'pass')
      const caller = isProven ? trace.caller : undefined
      return { key: 'receive', attributes: { proven: isProven }, caller }
    }
    stages.push({ ...common, name: 'receive', startAt, endAt: Math.max(startAt, at), describe })
  }
  for (const [index, step] of steps.entries()) {
    const begunAt = startAt + step.after
    const endAt = begunAt + step.ms
    checkedAt = Math.max(checkedAt, endAt)
    if (!isFirst) continue
    stages.push({ ...common, name: 'verify', startAt: begunAt, endAt, describe: () => describeCheck(step, index) })
  }
  const { message, outcome } = admitted
  const describe = () => ({ key: `admit ${message}`, attributes: { agent, message, outcome } })
  stages.push({ ...common, name: 'admit', startAt: Math.min(checkedAt, at), endAt: at, describe })
  return stages
}

function describeCheck({ kind, verdict, key_from }: VerifyStep, index: number): StageDetails {
  return { key: `verify ${index}`, attributes: { check: kind, verdict, ...(key_from !== undefined && { key_from }) } }
}

/** Outcomes of a turn that are nobody's fault. */
const well: ReadonlySet<TurnAttempt['outcome']> = new Set(['answered', 'silent', 'edited', 'canceled', 'deleted'])

function describeTurn(
  turn: Turn,
  attempt: TurnAttempt | undefined,
  { at, admittedAt }: { readonly at: number; readonly admittedAt: number | undefined },
): readonly MessageStage[] {
  if (!attempt) return []
  const { agent, message, via, correlationId } = turn
  const { leased_at, ended_at } = attempt
  const common = { via, correlationId }
  const stages: MessageStage[] = []
  const describeAs = (key: string) => () => ({ key, attributes: { agent, message, attempt: attempt.attempt } })
  if (admittedAt !== undefined)
    stages.push({
      ...common,
      name: 'queue',
      // A turn that came with its lease begins while its message is still told of.
      startAt: Math.min(admittedAt, leased_at),
      endAt: leased_at,
      describe: describeAs(`queue ${message}`),
    })
  const describeRun = () => describeAttempt(turn, attempt)
  stages.push(
    { ...common, name: 'turn', startAt: leased_at, endAt: ended_at, describe: describeRun },
    {
      ...common,
      name: 'commit',
      startAt: Math.min(ended_at, at),
      endAt: at,
      describe: describeAs(`commit ${message} ${turn.token}`),
    },
  )
  return stages
}

function describeAttempt(turn: Turn, attempt: TurnAttempt): StageDetails {
  const { leased_at, called_at, first_output_at, outcome, tools = [], error } = attempt
  return {
    key: turnKey(turn),
    attributes: {
      ...{ agent: turn.agent, message: turn.message, attempt: attempt.attempt, outcome },
      ...(called_at !== undefined && { called_after_ms: called_at - leased_at }),
      ...(first_output_at !== undefined && called_at !== undefined && { first_output_ms: first_output_at - called_at }),
      ...(tools.length > 0 && { tool_calls: tools.length }),
    },
    fault: well.has(outcome) ? undefined : (error?.name ?? outcome),
  }
}

function describeDelivery(delivery: Delivery, settlement: Settlement): readonly MessageStage[] {
  // It was not tried: its host is being left alone.
  if (!settlement.attempt) return []
  const { via, correlationId, id, attempt, agent, to } = delivery
  const { at, ms, status } = settlement.attempt
  const describe = () => {
    const host = findDestinationHost(to)
    return {
      key: `deliver ${id} ${delivery.token}`,
      attributes: {
        ...{ agent, attempt, outcome: settlement.state },
        ...(host !== undefined && { host }),
        ...(status !== undefined && { status }),
      },
      fault: settlement.state === 'sent' ? undefined : settlement.state,
    }
  }
  return [{ name: 'deliver', via, correlationId, startAt: at, endAt: at + ms, describe }]
}

/** Upper bounds, seconds. The same for all stages, so that they can be laid side by side. */
export const stageBounds = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300] as const

/** How long one stage took on one channel, since this process began. */
export interface StageHistogram {
  readonly stage: MessageStage['name']
  readonly via: MessageStage['via']
  /** How many took no longer than each bound, and in the end all. */
  readonly cumulative: readonly number[]
  /** Seconds of all together. */
  readonly sum: number
}

interface Counted {
  readonly counts: number[]
  sum: number
}

export interface StageMeter {
  count(stage: MessageStage): void
  list(): readonly StageHistogram[]
}

/** Labels are names of stages and of channels, so there are few. */
export function createStageMeter(): StageMeter {
  const channels = new Map<MessageStage['via'], Map<MessageStage['name'], Counted>>()

  function histogramOf({ name, via }: MessageStage): Counted {
    const counted = channels.get(via)?.get(name)
    if (counted) return counted
    const histogram = { counts: Array<number>(stageBounds.length + 1).fill(0), sum: 0 }
    const stages = channels.get(via) ?? new Map<MessageStage['name'], Counted>()
    channels.set(via, stages.set(name, histogram))
    return histogram
  }

  return {
    count(stage) {
      const seconds = Math.max(0, stage.endAt - stage.startAt) / 1000
      const histogram = histogramOf(stage)
      let at = 0
      while (at < stageBounds.length && seconds > (stageBounds[at] ?? 0)) at += 1
      histogram.counts[at] = (histogram.counts[at] ?? 0) + 1
      histogram.sum += seconds
    },
    list: () =>
      [...channels].flatMap(([via, stages]) =>
        [...stages].map(([stage, { counts, sum }]) => {
          let total = 0
          return { stage, via, sum, cumulative: counts.map(count => (total += count)) }
        }),
      ),
  }
}

interface Stages {
  readonly onStage: StageListener
  readonly meter: StageMeter
  /** Absent where nothing is traced. */
  readonly telemetry: Telemetry | undefined
}

/** Those who are told of each stage: the histograms, and the collector where there is one. @throws ConfigError */
export async function openStages(config: Config['telemetry']): Promise<Stages> {
  const meter = createStageMeter()
  const telemetry = await openTelemetry(config)
  return {
    meter,
    telemetry,
    onStage(stage) {
      meter.count(stage)
      telemetry?.send(stage)
    },
  }
}

/** One record that has changed; what it is now is read when it is sent. */
export interface Change {
  /** Rises by one. */
  readonly place: number
  /** ms */
  readonly at: number
  readonly kind: ChangeKind
  /** Number of the record; of a requirement that of its message. */
  readonly number: number
}

/** The newest changes of the store, by whichever gateway they were made. */
export interface ChangeRing {
  /** Place of the newest. */
  newest(): number
  /** What changed behind a place, oldest first; undefined when that is not all there any more. */
  listAfter(place: number): readonly Change[] | undefined
  /** Resolves when there is something behind a place, or when the signal ends it. */
  wait(place: number, signal: AbortSignal): Promise<void>
  formatId(change: Pick<Change, 'place' | 'at'>): string
  /** Where a reader goes on that has seen this id, maybe of another gateway; undefined when it has missed what is not here any more. */
  findPlace(id: string): number | undefined
  close(): void
}

interface RingOptions {
  readonly store: Pick<NoticeStore, 'listen'>
  now(): number
  /** Changes that are held at most. */
  readonly capacity?: number
}

/** Clocks of gateways differ, and a hint needs its time, ms. */
const slackMs = 5_000

export function createChangeRing({ store, now, capacity = 5_000 }: RingOptions): ChangeRing {
  const own = randomBytes(6).toString('hex')
  const beganAt = now()
  const waiting = new Set<() => void>()
  const changes = createSlots(capacity)
  let newest = 0
  const oldest = () => Math.max(1, newest - capacity + 1)

  function readFrom(place: number): readonly Change[] {
    return Array.from({ length: newest + 1 - place }, (_, index) => changes.read(place + index))
  }

  const unlisten = store.listen('changes', payload => {
    const at = now()
    readNotice(payload, (kind, number) => {
      newest += 1
      changes.write(newest, { at, kind, number })
    })
    for (const wake of [...waiting]) wake()
  })

  return {
    newest: () => newest,
    listAfter: place => (place < oldest() - 1 ? undefined : readFrom(Math.min(place, newest) + 1)),
    async wait(place, signal) {
      if (newest > place || signal.aborted) return
      const { promise, resolve } = Promise.withResolvers<void>()
      waiting.add(resolve)
      signal.addEventListener('abort', () => resolve(), { once: true })
      await promise
      waiting.delete(resolve)
    },
    formatId: ({ place, at }) => `${own}-${place}-${at}`,
    findPlace(id) {
      const [, writer, place, at] = /^([0-9a-f]{12})-(\d{1,15})-(\d{1,15})$/.exec(id) ?? []
      if (writer === own) return Number(place) <= newest ? Number(place) : undefined
      const from = Number(at) - slackMs
      // Every gateway hears of every change: what another one has told of since then is here, too.
      const isMissed = oldest() > 1 && changes.read(oldest()).at > from
      if (at === undefined || from < beganAt || isMissed) return undefined
      return (readFrom(oldest()).find(change => change.at >= from)?.place ?? newest + 1) - 1
    },
    close: unlisten,
  }
}

/** The newest changes as plain numbers: an object for each would live long enough to cost the collector more than all else here. */
function createSlots(capacity: number) {
  const times = new Float64Array(capacity)
  const numbers = new Float64Array(capacity)
  const kinds = new Uint8Array(capacity)
  return {
    write(place: number, { at, kind, number }: Omit<Change, 'place'>): void {
      const slot = place % capacity
      times[slot] = at
      numbers[slot] = number
      kinds[slot] = changeKinds.indexOf(kind)
    },
    read(place: number): Change {
      const slot = place % capacity
      const kind = changeKinds[kinds[slot] ?? 0] ?? changeKinds[0]
      return { place, at: times[slot] ?? 0, kind, number: numbers[slot] ?? 0 }
    },
  }
}

/** Whoever may write to the database may tell anything. */
function readNotice(payload: unknown, take: (kind: ChangeKind, number: number) => void): void {
  const notice = (payload ?? {}) as ChangeNotice
  for (const kind of changeKinds) {
    const numbers: unknown = notice[kind]
    if (!Array.isArray(numbers)) continue
    for (const number of numbers) if (Number.isSafeInteger(number)) take(kind, number)
  }
}
