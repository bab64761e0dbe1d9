import { randomBytes } from 'node:crypto'
import type { ChangeKind, ChangeNotice, NoticeStore } from '@postern/core'
import { changeKinds } from '@postern/core'

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
