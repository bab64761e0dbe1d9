// Yields changed records as server-sent events, as fast as the reader accepts them.
import { setTimeout as delay } from 'node:timers/promises'
import { toSseJson } from '@postern/http'
import type { ChangeKind, OperatorStore } from '@postern/pipeline'
import type { Change, ChangeRing } from './change-ring.ts'

interface EventStreamOptions extends EventFilter {
  readonly ring: ChangeRing
  readonly store: EventStore
  readonly kinds: readonly ChangeKind[]
  /** The id of the last event that the reader has seen. */
  readonly lastId?: string | undefined
  readonly signal: AbortSignal
  now(): number
}

/** The time for which the stream waits to report several changes of a record as one, ms. */
const mergeMs = 250
/** The longest time without data, ms. A reader that gets nothing for longer considers the connection dead. */
const heartbeatMs = 15_000
/** The maximum number of changes to read at a time. */
const maxRowsAtOnce = 200

/**
 * Yields events as text. The gateway keeps only the position of a slow reader, who gets each changed record once, in its present state. If the
 * ring no longer has the reader’s changes, an event `reload` tells it to read the lists again.
 */
export async function* streamChanges(options: EventStreamOptions): AsyncGenerator<string> {
  const { ring, store, kinds, lastId, signal, now, agent, channel } = options
  const resumePosition = lastId === undefined ? ring.newest() : ring.findPosition(lastId)
  let position = resumePosition ?? ring.newest()
  const formatCurrentId = () => ring.formatId({ position, at: now() })
  yield formatEvent(resumePosition === undefined ? 'reload' : 'ready', formatCurrentId(), {})
  while (!signal.aborted) {
    const changes = ring.listAfter(position)?.slice(0, maxRowsAtOnce)
    if (changes === undefined) {
      position = ring.newest()
      yield formatEvent('reload', formatCurrentId(), {})
      continue
    }
    const wantedChanges = changes.filter(({ kind }) => kinds.includes(kind))
    for (const { record, ...change } of await readChanges(wantedChanges, store, { agent, channel })) {
      yield formatEvent(change.kind, ring.formatId(change), record)
    }
    position = changes.at(-1)?.position ?? position
    const isIdle = changes.length < maxRowsAtOnce && !(await waitForChange(ring, position, signal))
    if (isIdle && !signal.aborted) yield ': nothing new\n\n'
  }
}

/** Waits for a change. Returns false if none came until the next heartbeat is due. */
async function waitForChange(ring: ChangeRing, position: number, signal: AbortSignal): Promise<boolean> {
  const idle = AbortSignal.any([signal, AbortSignal.timeout(heartbeatMs)])
  await ring.wait(position, idle)
  const hasChanged = ring.newest() > position
  if (hasChanged) await delay(mergeMs, undefined, { signal }).catch(() => undefined)
  return hasChanged
}

function formatEvent(kind: string, id: string, data: object): string {
  return `event: ${kind}\nid: ${id}\ndata: ${toSseJson(data)}\n\n`
}

interface EventFilter {
  readonly agent?: string | undefined
  readonly channel?: string | undefined
}

/** A change with the record as it is now. */
interface ChangedRecord extends Change {
  readonly record: object
}

export type EventStore = Pick<OperatorStore, 'listMessages' | 'listDeliveries' | 'listRefusals'>

type Range = EventFilter & { readonly limit: number; readonly after: number; readonly floor: number }
type ReadRange = (store: EventStore, range: Range) => Promise<readonly (readonly [number: number, record: object])[]>

const readMessages: ReadRange = async (store, range) =>
  (await store.listMessages(range)).map(summary => [summary.message, summary])

/** Reads the records of a range of numbers, by kind. */
const rangeReaders: Readonly<Record<ChangeKind, ReadRange>> = {
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
    return (await store.listRefusals(range)).map(refusal => [refusal.number, refusal])
  },
}

/** The maximum span of numbers that one query reads. */
const maxRangeSpan = 100

/** Returns the latest change of each record that passes the filter, in order. Deleted records are left out. */
export async function readChanges(
  changes: readonly Change[],
  store: EventStore,
  filter: EventFilter,
): Promise<readonly ChangedRecord[]> {
  const latestChanges = new Map(changes.map(change => [`${change.kind} ${change.number}`, change]))
  const records = new Map<string, object>()
  for (const [kind, group] of Map.groupBy(latestChanges.values(), ({ kind: changeKind }) => changeKind)) {
    for (const [floor, lastNumber] of listRanges(group.map(({ number }) => number))) {
      const range = { ...filter, limit: lastNumber - floor + 1, after: lastNumber + 1, floor }
      for (const [number, record] of await rangeReaders[kind](store, range)) records.set(`${kind} ${number}`, record)
    }
  }
  return [...latestChanges]
    .flatMap(([key, change]) => {
      const record = records.get(key)
      return record ? [{ ...change, record }] : []
    })
    .toSorted((a, b) => a.position - b.position)
}

/** Returns the first and last number of each group of close numbers. */
function listRanges(numbers: readonly number[]): readonly (readonly [number, number])[] {
  const ranges: [number, number][] = []
  for (const number of numbers.toSorted((a, b) => a - b)) {
    const range = ranges.at(-1)
    if (range && number - range[0] < maxRangeSpan) range[1] = number
    else ranges.push([number, number])
  }
  return ranges
}
