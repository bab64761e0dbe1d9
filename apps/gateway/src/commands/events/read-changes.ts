import type { ChangeKind, OperatorStore } from '@postern/core'
import type { Change } from './change-ring.ts'

export interface EventFilter {
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
