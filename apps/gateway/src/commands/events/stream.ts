import { setTimeout as delay } from 'node:timers/promises'
import type { ChangeKind, OperatorStore } from '@postern/core'
import { toSseJson } from '@postern/http'
import type { Change, ChangeRing } from '../../observe/telemetry/observe-store.ts'

interface EventStreamOptions extends EventFilter {
  readonly ring: ChangeRing
  readonly store: EventStore
  readonly kinds: readonly ChangeKind[]
  /** Id of the last event that the reader has seen. */
  readonly lastId?: string | undefined
  readonly signal: AbortSignal
  now(): number
}

/** Changes of this time are told together, each record once, ms. */
const gatherMs = 250
/** A reader that hears nothing for longer takes the connection for dead, ms. */
const heartbeatMs = 15_000
/** Changes that are read at a time. */
const mostAtOnce = 200

/**
 * Events as text, as long as the reader takes them. Nothing is kept for a slow reader but its place: it hears of each record once, as it is
 * then, and of what is gone from the ring by `reload`.
 */
export async function* streamChanges(options: EventStreamOptions): AsyncGenerator<string> {
  const { ring, store, kinds, lastId, signal, now, agent, channel } = options
  const known = lastId === undefined ? ring.newest() : ring.findPlace(lastId)
  let place = known ?? ring.newest()
  const mark = () => ring.formatId({ place, at: now() })
  yield formatEvent(known === undefined ? 'reload' : 'ready', mark(), {})
  while (!signal.aborted) {
    const changes = ring.listAfter(place)?.slice(0, mostAtOnce)
    if (changes === undefined) {
      place = ring.newest()
      yield formatEvent('reload', mark(), {})
      continue
    }
    const wanted = changes.filter(({ kind }) => kinds.includes(kind))
    for (const { record, ...change } of await readChanges(wanted, store, { agent, channel })) {
      yield formatEvent(change.kind, ring.formatId(change), record)
    }
    place = changes.at(-1)?.place ?? place
    const isIdle = changes.length < mostAtOnce && !(await waitForMore(ring, place, signal))
    if (isIdle && !signal.aborted) yield ': nothing new\n\n'
  }
}

/** False when nothing came for so long that the reader has to hear something. */
async function waitForMore(ring: ChangeRing, place: number, signal: AbortSignal): Promise<boolean> {
  const idle = AbortSignal.any([signal, AbortSignal.timeout(heartbeatMs)])
  await ring.wait(place, idle)
  const isMore = ring.newest() > place
  if (isMore) await delay(gatherMs, undefined, { signal }).catch(() => undefined)
  return isMore
}

function formatEvent(kind: string, id: string, data: object): string {
  return `event: ${kind}\nid: ${id}\ndata: ${toSseJson(data)}\n\n`
}

interface EventFilter {
  readonly agent?: string | undefined
  readonly channel?: string | undefined
}

/** A change with the record as it is now. */
interface ReadChange extends Change {
  readonly record: object
}

export type EventStore = Pick<OperatorStore, 'listMessages' | 'listDeliveries' | 'listRefusals'>

type Range = EventFilter & { readonly limit: number; readonly after: number; readonly floor: number }
type ReadRange = (store: EventStore, range: Range) => Promise<readonly (readonly [number: number, record: object])[]>

const readMessages: ReadRange = async (store, range) =>
  (await store.listMessages(range)).map(summary => [summary.message, summary])

/** By kind, how records of a range of numbers are read. */
const readers: Readonly<Record<ChangeKind, ReadRange>> = {
  message: readMessages,
  turn: readMessages,
  async requirement(store, range) {
    return (await readMessages(store, range)).map(([message]) => [message, { message }])
  },
  async delivery(store, range) {
    const deliveries = await store.listDeliveries(range)
    return deliveries.map(({ wire: _, attempt_log: __, ...delivery }) => [Number(delivery.id), delivery])
  },
  async refusal(store, range) {
    return (await store.listRefusals(range)).map(refusal => [refusal.place, refusal])
  },
}

/** Numbers that lie as close as this are read together. */
const closeNumbers = 100

/** The latest change of each record, in order, as far as the filter lets it pass; records that are gone are left out. */
export async function readChanges(
  changes: readonly Change[],
  store: EventStore,
  filter: EventFilter,
): Promise<readonly ReadChange[]> {
  const latest = new Map(changes.map(change => [`${change.kind} ${change.number}`, change]))
  const records = new Map<string, object>()
  for (const [kind, group] of Map.groupBy(latest.values(), ({ kind: each }) => each)) {
    for (const [floor, last] of listRanges(group.map(({ number }) => number))) {
      const range = { ...filter, limit: last - floor + 1, after: last + 1, floor }
      for (const [number, record] of await readers[kind](store, range)) records.set(`${kind} ${number}`, record)
    }
  }
  return [...latest]
    .flatMap(([key, change]) => {
      const record = records.get(key)
      return record ? [{ ...change, record }] : []
    })
    .toSorted((one, other) => one.place - other.place)
}

/** The first and the last of each run of numbers that lie close. */
function listRanges(numbers: readonly number[]): readonly (readonly [number, number])[] {
  const ranges: [number, number][] = []
  for (const number of numbers.toSorted((one, other) => one - other)) {
    const range = ranges.at(-1)
    if (range && number - range[0] < closeNumbers) range[1] = number
    else ranges.push([number, number])
  }
  return ranges
}
