import type { Event, RunFinishedEvent } from '@ag-ui/core'
import { EventType } from '@ag-ui/core'
import type { NormalizedResponse, Part } from '@postern/core'
import { blockBreak, writeBlock } from '../render.ts'
import type { OpenRequirementView } from '../requirements/interrupts.ts'

type Send = (event: Event) => void

/** Types that came after the first clients. A client of 0.0.x ends with an error at a type that it does not know. */
const laterTypes: ReadonlySet<string> = new Set([
  EventType.ACTIVITY_SNAPSHOT,
  EventType.ACTIVITY_DELTA,
  EventType.SUBAGENT_STARTED,
  EventType.SUBAGENT_FINISHED,
  EventType.SUBAGENT_ERROR,
])

const textTypes: ReadonlySet<string> = new Set([EventType.TEXT_MESSAGE_CONTENT, EventType.TEXT_MESSAGE_END])

/**
 * Writes the events of a run for clients of AG-UI 0.0.x: with no type, outcome or member that one of them refuses, and with nothing but its
 * text between the start and the end of a message. Later types become custom events of the same names, in lower case.
 */
export function createEarlierWriter(send: Send): Send {
  let waiting: Event[] = []
  let isInText = false
  return event => {
    const written = toEarlierEvent(event)
    if (isInText && !textTypes.has(written.type)) {
      waiting.push(written)
      return
    }
    send(written)
    isInText =
      written.type === EventType.TEXT_MESSAGE_START || (isInText && written.type !== EventType.TEXT_MESSAGE_END)
    if (isInText) return
    for (const late of waiting) send(late)
    waiting = []
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

/** Calls that wait for the client are those without a result. An end without an outcome would be a success. */
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

/** The answer with a link after each requirement that has an address, for clients that show only text. */
export function withDecisionLinks(response: NormalizedResponse): NormalizedResponse {
  return { ...response, parts: response.parts.flatMap(part => [part, ...linkOf(part)]) }
}

function linkOf(part: Part): readonly Part[] {
  if (part.kind !== 'policy' || part.policy.url === undefined) return []
  const { url, action_label: title } = part.policy
  return [{ kind: 'link', url, ...(title !== undefined && { title }) }]
}

/** The same for a message of the history, whose `metadata` has the addresses of open requirements. */
export function addLinks(content: string, { requirements = [] }: { readonly requirements?: unknown }): string {
  const links = (requirements as readonly OpenRequirementView[]).map(({ url }) =>
    writeBlock({ kind: 'link', url }, undefined),
  )
  return [content, ...links].filter(Boolean).join(blockBreak)
}
