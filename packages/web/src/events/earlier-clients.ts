// Converts events of AG-UI 1.0 for clients of 0.0.x.
import type { Event, RunAgentInput, RunFinishedEvent } from '@ag-ui/core'
import { EventType } from '@ag-ui/core'

type Send = (event: Event) => void

/** Event types that 0.0.x does not have. Its clients fail with an error on an unknown type. */
const laterTypes: ReadonlySet<string> = new Set([
  EventType.ACTIVITY_SNAPSHOT,
  EventType.ACTIVITY_DELTA,
  EventType.SUBAGENT_STARTED,
  EventType.SUBAGENT_FINISHED,
  EventType.SUBAGENT_ERROR,
])

const textTypes: ReadonlySet<string> = new Set([EventType.TEXT_MESSAGE_CONTENT, EventType.TEXT_MESSAGE_END])

/**
 * Creates a writer that sends the events of a run to clients of AG-UI 0.0.x: without types, outcomes or members that they refuse, and with
 * only text between the start and the end of a message. Later types become custom events of the same names, in lower case.
 */
export function createEarlierWriter(send: Send): Send {
  let pendingEvents: Event[] = []
  let isInText = false
  return event => {
    const earlierEvent = toEarlierEvent(event)
    if (isInText && !textTypes.has(earlierEvent.type)) {
      pendingEvents.push(earlierEvent)
      return
    }
    send(earlierEvent)
    isInText =
      earlierEvent.type === EventType.TEXT_MESSAGE_START ||
      (isInText && earlierEvent.type !== EventType.TEXT_MESSAGE_END)
    if (isInText) return
    for (const pendingEvent of pendingEvents) send(pendingEvent)
    pendingEvents = []
  }
}

function toEarlierEvent(event: Event): Event {
  if (laterTypes.has(event.type)) return toCustomEvent(event)
  if (event.type === EventType.RUN_STARTED) return withoutMember(event, 'protocolVersion')
  return event.type === EventType.RUN_FINISHED ? withEarlierOutcome(event) : event
}

function toCustomEvent({ type, timestamp, ...value }: Event): Event {
  return { type: EventType.CUSTOM, name: type.toLowerCase(), value, timestamp } as Event
}

/**
 * Returns the end of a run with an outcome that 0.0.x knows. A cancelled run becomes an error, because an end without an outcome would be a
 * success. The client can tell the calls that wait for it by their missing results.
 */
function withEarlierOutcome(event: RunFinishedEvent): Event {
  const { outcome, usage, timestamp } = event
  if (outcome?.type === 'cancelled') {
    const error = { type: EventType.RUN_ERROR, message: 'The run was cancelled', code: 'cancelled', timestamp }
    return { ...error, ...(usage && { usage }) } as Event
  }
  return outcome ? { ...event, outcome: withoutMember(outcome, 'pendingToolCallIds') } : event
}

function withoutMember<Value extends object>(value: Value, name: string): Value {
  return Object.fromEntries(Object.entries(value).filter(([member]) => member !== name)) as Value
}

/** Returns true if the client speaks AG-UI 0.0.x. Only clients from 1.0 on name their version. */
export function isEarlierClient({ protocolVersion = '' }: Pick<RunAgentInput, 'protocolVersion'>): boolean {
  return !/^[1-9]\d*(\.|$)/.test(protocolVersion)
}
