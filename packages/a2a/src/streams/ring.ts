import { countEventChars } from '../format/count-chars.ts'
import type { WireStreamEvent } from '../format/wire.ts'

interface PlacedEvent {
  readonly id: string
  readonly event: WireStreamEvent
}

/** The newest events of one task, for callers whose connection broke. */
export interface Ring {
  put(event: WireStreamEvent): PlacedEvent
  /** The position after the newest event. */
  here(): string
  /** The events after this position; undefined when they are no longer known. */
  after(id: string): readonly PlacedEvent[] | undefined
}

const maxEvents = 256
/** Approximate characters, because a thousand tasks may have a ring at once. The task itself has what is larger. */
const maxChars = 256 * 1024

/** `epoch` distinguishes the positions of different rings. Without `keeps` events get positions but are not kept. */
export function createRing(epoch: string, keeps: () => boolean): Ring {
  let count = 0
  let kept: PlacedEvent[] = []
  let chars = 0

  function keep(placed: PlacedEvent): void {
    kept.push(placed)
    chars += countEventChars(placed.event)
    while (kept.length > maxEvents || chars > maxChars) {
      const oldest = kept.shift()
      if (!oldest) break
      chars -= countEventChars(oldest.event)
    }
  }

  function forget(): void {
    kept = []
    chars = 0
  }

  return {
    put(event) {
      count += 1
      const placed = { id: `${epoch}-${count}`, event }
      if (keeps()) keep(placed)
      else forget()
      return placed
    },
    here: () => `${epoch}-${count}`,
    after(id) {
      const place = readPlace(id, epoch)
      if (place === undefined || place > count) return undefined
      return count - place <= kept.length ? kept.slice(kept.length - (count - place)) : undefined
    },
  }
}

function readPlace(id: string, epoch: string): number | undefined {
  const [, named, count] = /^([0-9a-f]{1,32})-(\d{1,15})$/.exec(id) ?? []
  return named === epoch ? Number(count) : undefined
}
