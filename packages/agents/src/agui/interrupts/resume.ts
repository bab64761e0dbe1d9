// Creates the members of a run that send answers to a server.
import type { Json } from '@postern/message'
import { isJsonObject, parseIfJson } from '@postern/message'
import type { InterruptAnswer, OpenInterrupt } from './open-interrupts.ts'

type AnsweredInterrupt = OpenInterrupt & { readonly answer: InterruptAnswer }
type ForwardedProps = { readonly [name: string]: Json }

interface ResumeMembers {
  readonly forwardedProps: ForwardedProps
  readonly resume?: readonly object[] | undefined
}

/**
 * Returns AG-UI's `resume`, or LangGraph's `forwardedProps.command`. The current `ag-ui-langgraph` reads only `command` if it reported its interrupts
 * by events, and it accepts several answers at once only in `command`.
 */
export function createResumeMembers(
  openInterrupts: readonly OpenInterrupt[],
  forwardedProps: ForwardedProps,
): ResumeMembers {
  const answeredInterrupts = openInterrupts.filter(
    (interrupt): interrupt is AnsweredInterrupt => interrupt.answer !== undefined,
  )
  if (answeredInterrupts.length === 0) return { forwardedProps }
  const usesCommand =
    answeredInterrupts.every(({ via }) => via !== 'resume') &&
    (answeredInterrupts.length > 1 || answeredInterrupts[0]?.via === 'command')
  if (!usesCommand)
    return { forwardedProps, resume: answeredInterrupts.map(({ id, answer }) => ({ interruptId: id, ...answer })) }
  const command = isJsonObject(forwardedProps.command) ? (forwardedProps.command as ForwardedProps) : {}
  return {
    forwardedProps: { ...forwardedProps, command: { ...command, resume: createCommandValue(answeredInterrupts) } },
  }
}

/** Returns true if an id has LangGraph's form. LangGraph reads an object whose keys all have this form as one answer per interrupt. */
const isLanggraphId = ({ id }: OpenInterrupt) => /^[0-9a-f]{32}$/.test(id)

function createCommandValue(answeredInterrupts: readonly AnsweredInterrupt[]): Json {
  const [firstInterrupt, ...otherInterrupts] = answeredInterrupts
  const value = firstInterrupt ? toResumeValue(firstInterrupt) : null
  // LangGraph's server treats null as no answer.
  const isMap = otherInterrupts.length > 0 || (value === null && answeredInterrupts.every(isLanggraphId))
  if (isMap) return Object.fromEntries(answeredInterrupts.map(interrupt => [interrupt.id, toResumeValue(interrupt)]))
  // LangGraph's server parses a text as JSON if it can.
  return typeof value === 'string' && parseIfJson(value) !== undefined ? JSON.stringify(value) : value
}

/** Writes an answer for LangGraph. A cancelled interrupt gets the value that LangGraph's own server would give it. */
function toResumeValue({ id, answer }: AnsweredInterrupt): Json {
  return answer.status === 'resolved' ? answer.payload : { __agui_cancelled__: true, interrupt_id: id }
}
