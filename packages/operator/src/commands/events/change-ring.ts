// Holds the newest changes of the store, so that readers of the event stream miss none.
import { randomBytes } from 'node:crypto'
import type { ChangeKind, ChangeNotice, NoticeStore } from '@postern/pipeline'
import { changeKinds } from '@postern/pipeline'

/** One changed record. Its present state is read when the change is sent. */
export interface Change {
  /** The position of the change, which rises by one. */
  readonly position: number
  /** The time of the change, ms. */
  readonly at: number
  readonly kind: ChangeKind
  /** The number of the record; for a requirement, the number of its message. */
  readonly number: number
}

/** The newest changes of the store, regardless of the gateway that made them. */
export interface ChangeRing {
  /** Returns the position of the newest change. */
  newest(): number
  /** Lists the changes after a position, oldest first; undefined if the ring has dropped some of them. */
  listAfter(position: number): readonly Change[] | undefined
  /** Resolves after a change follows a position, or after the signal aborts. */
  wait(position: number, signal: AbortSignal): Promise<void>
  formatId(change: Pick<Change, 'position' | 'at'>): string
  /**
   * Finds the position at which a reader continues after this id, which may come from another gateway. Returns undefined if the ring has dropped
   * changes that the reader missed.
   */
  findPosition(id: string): number | undefined
  close(): void
}

interface RingOptions {
  readonly store: Pick<NoticeStore, 'listen'>
  now(): number
  /** The maximum number of changes. */
  readonly capacity?: number
}

/** The tolerated difference between the clocks of gateways plus the delay of a notice, ms. */
const slackMs = 5_000

export function createChangeRing({ store, now, capacity = 5_000 }: RingOptions): ChangeRing {
  const writerId = randomBytes(6).toString('hex')
  const startedAt = now()
  const waiters = new Set<() => void>()
  const changes = createSlots(capacity)
  let newest = 0
  const oldest = () => Math.max(1, newest - capacity + 1)

  function readFrom(position: number): readonly Change[] {
    return Array.from({ length: newest + 1 - position }, (_, index) => changes.read(position + index))
  }

  const unlisten = store.listen('changes', payload => {
    const happenedAt = now()
    readNotice(payload, (kind, number) => {
      newest += 1
      changes.write(newest, { at: happenedAt, kind, number })
    })
    for (const wake of [...waiters]) wake()
  })

  return {
    newest: () => newest,
    listAfter: position => (position < oldest() - 1 ? undefined : readFrom(Math.min(position, newest) + 1)),
    async wait(position, signal) {
      if (newest > position || signal.aborted) return
      const { promise, resolve } = Promise.withResolvers<void>()
      waiters.add(resolve)
      signal.addEventListener('abort', () => resolve(), { once: true })
      await promise
      waiters.delete(resolve)
    },
    formatId: ({ position, at }) => `${writerId}-${position}-${at}`,
    findPosition(id) {
      const [, writer, position, at] = /^([0-9a-f]{12})-(\d{1,15})-(\d{1,15})$/.exec(id) ?? []
      if (writer === writerId) return Number(position) <= newest ? Number(position) : undefined
      const fromMs = Number(at) - slackMs
      // Every gateway receives every change, so the changes that another gateway has sent since then are here, too.
      const isMissed = oldest() > 1 && changes.read(oldest()).at > fromMs
      if (at === undefined || fromMs < startedAt || isMissed) return undefined
      return (readFrom(oldest()).find(change => change.at >= fromMs)?.position ?? newest + 1) - 1
    },
    close: unlisten,
  }
}

/**
 * Creates the storage of changes as plain numbers. An object for each change would live long enough to cost the garbage collector more than
 * everything else here.
 */
function createSlots(capacity: number) {
  const times = new Float64Array(capacity)
  const numbers = new Float64Array(capacity)
  const kinds = new Uint8Array(capacity)
  return {
    write(position: number, { at, kind, number }: Omit<Change, 'position'>): void {
      const slot = position % capacity
      times[slot] = at
      numbers[slot] = number
      kinds[slot] = changeKinds.indexOf(kind)
    },
    read(position: number): Change {
      const slot = position % capacity
      const kind = changeKinds[kinds[slot] ?? 0] ?? changeKinds[0]
      return { position, at: times[slot] ?? 0, kind, number: numbers[slot] ?? 0 }
    },
  }
}

/** Reads a notice and validates it, because every program with access to the database can send one. */
function readNotice(payload: unknown, addChange: (kind: ChangeKind, number: number) => void): void {
  const notice = (payload ?? {}) as ChangeNotice
  for (const kind of changeKinds) {
    const numbers: unknown = notice[kind]
    if (!Array.isArray(numbers)) continue
    for (const number of numbers) if (Number.isSafeInteger(number)) addChange(kind, number)
  }
}
