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
  let changes: Change[] = []
  let newest = 0

  const unlisten = store.listen('changes', payload => {
    const at = now()
    for (const { kind, number } of readNotice(payload)) {
      newest += 1
      changes.push({ place: newest, at, kind, number })
    }
    // Not at every change: what is cut off is copied.
    if (changes.length > 2 * capacity) changes = changes.slice(-capacity)
    for (const wake of [...waiting]) wake()
  })

  return {
    newest: () => newest,
    listAfter(place) {
      const oldest = changes[0]?.place ?? newest + 1
      return place < oldest - 1 ? undefined : changes.slice(place - oldest + 1)
    },
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
      const oldest = changes[0]
      // Every gateway hears of every change: what another one has told of since then is here, too.
      if (at === undefined || from < beganAt || (oldest && oldest.place > 1 && oldest.at > from)) return undefined
      return (changes.find(change => change.at >= from)?.place ?? newest + 1) - 1
    },
    close: unlisten,
  }
}

/** Whoever may write to the database may tell anything. */
function readNotice(payload: unknown): readonly Pick<Change, 'kind' | 'number'>[] {
  const notice = (payload ?? {}) as ChangeNotice
  return changeKinds.flatMap(kind => {
    const numbers: unknown = notice[kind]
    return Array.isArray(numbers) ? numbers.filter(Number.isSafeInteger).map(number => ({ kind, number })) : []
  })
}
