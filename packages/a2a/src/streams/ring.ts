import { countEventChars } from '../format/count-chars.ts'
import type { WireStreamEvent } from '../format/wire.ts'

interface PlacedEvent {
  readonly id: string
  readonly event: WireStreamEvent
}

/** The newest events of one task, for callers who were cut off. */
interface Ring {
  put(event: WireStreamEvent): PlacedEvent
  /** The place behind the newest event. */
  here(): string
  /** What happened behind this place; undefined when it is not known here any more. */
  after(id: string): readonly PlacedEvent[] | undefined
}

const maxEvents = 256
/** Characters of what is kept, about: a thousand tasks may be remembered at once. What is larger is found in the task. */
const maxChars = 256 * 1024

/** `epoch` tells the places of one ring from those of another. Without `keeps` events get their places but are not kept. */
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
