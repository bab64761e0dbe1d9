// Numbers the events of a task's stream, and stores the newest events for callers that reconnect.
import type { WireStreamEvent } from '../format/wire.ts'
import { countEventChars } from '../format/wire.ts'

interface NumberedEvent {
  readonly id: string
  readonly event: WireStreamEvent
}

export type EventLog = ReturnType<typeof createEventLog>

const maxEvents = 256
/** The most characters in a log, approximately, because a thousand tasks may have a log at once. Larger data can be read from the task itself. */
const maxChars = 256 * 1024

/**
 * Creates a log of the newest events of one task, for callers whose connection broke. `epoch` distinguishes the positions of different logs.
 * While `isRecording` returns false, events get positions but are not stored.
 */
export function createEventLog(epoch: string, isRecording: () => boolean) {
  let count = 0
  let events: NumberedEvent[] = []
  let chars = 0

  function append(numberedEvent: NumberedEvent): void {
    events.push(numberedEvent)
    chars += countEventChars(numberedEvent.event)
    while (events.length > maxEvents || chars > maxChars) {
      const oldest = events.shift()
      if (!oldest) break
      chars -= countEventChars(oldest.event)
    }
  }

  function clear(): void {
    events = []
    chars = 0
  }

  return {
    add(event: WireStreamEvent): NumberedEvent {
      count += 1
      const numberedEvent = { id: `${epoch}-${count}`, event }
      if (isRecording()) append(numberedEvent)
      else clear()
      return numberedEvent
    },
    /** Returns the position after the newest event. */
    currentPosition: () => `${epoch}-${count}`,
    /** Returns the events after this position, or undefined if they are no longer stored. */
    eventsAfter(id: string): readonly NumberedEvent[] | undefined {
      const position = readPosition(id, epoch)
      if (position === undefined || position > count) return undefined
      return count - position <= events.length ? events.slice(events.length - (count - position)) : undefined
    },
  }
}

function readPosition(id: string, epoch: string): number | undefined {
  const [, eventEpoch, count] = /^([0-9a-f]{1,32})-(\d{1,15})$/.exec(id) ?? []
  return eventEpoch === epoch ? Number(count) : undefined
}
