import type { Event, Interrupt, RunFinishedOutcome, TextMessageStartEvent } from '@ag-ui/core'
import { EventType, PROTOCOL_VERSION } from '@ag-ui/core'
import type { Json, NormalizedResponse, Part, ToolCallPart } from '@postern/core'
import { plainTextOf } from '@postern/core'

export interface RunPlace {
  readonly threadId: string
  readonly runId: string
  readonly parentRunId?: string | undefined
  readonly agent: string
  readonly now: () => number
  /** Tools that the client runs itself. */
  readonly clientTools: ReadonlySet<string>
  /** Where stored bytes are read. */
  readonly fileAddress?: ((digest: string) => string) | undefined
}

/** Tells a run in the grammar of AG-UI 1.0: what is opened is closed, and nothing comes behind the end. */
export interface RunWriter {
  start(): void
  snapshot(messages: readonly object[]): void
  warn(text: string): void
  /** A piece of the answer, in order; text of one message runs on. */
  piece(parts: readonly Part[], response: string): void
  /** Said meanwhile; no part of the answer. */
  interim(parts: readonly Part[]): void
  /** What the answer has beyond what was told already. */
  complete(response: NormalizedResponse): void
  finish(ending: RunEnding): void
  fail(message: string, code: string): void
}

export type RunEnding =
  | { readonly kind: 'success' | 'cancelled' }
  | { readonly kind: 'interrupt'; readonly interrupts: readonly Interrupt[] }

const stage = 'execution'

type Unstamped<E> = E extends Event ? Omit<E, 'timestamp'> : never

export function createRunWriter(place: RunPlace, send: (event: Event) => void): RunWriter {
  const { threadId, runId, now } = place
  const startedAt = now()
  /** Calls by their ids, and whether they have ended. */
  const begun = new Map<string, { readonly name: string; hasEnded: boolean }>()
  let told = ''
  let open: string | undefined
  let messageCount = 0
  let isStepOpen = false
  let isOver = false

  const emit = (event: Unstamped<Event>): void => {
    if (!isOver) send({ ...event, timestamp: Math.trunc(now()) } as Event)
  }

  /** To the client, who runs it itself. */
  const isLeft = ({ name, hasEnded }: { readonly name: string; readonly hasEnded: boolean }) =>
    !hasEnded && place.clientTools.has(name)

  function endMessage(): void {
    if (open !== undefined) emit({ type: EventType.TEXT_MESSAGE_END, messageId: open })
    open = undefined
  }

  function say(delta: string, response: string): void {
    if (delta === '') return
    if (open === undefined) {
      messageCount += 1
      open = messageCount === 1 ? response : `${response}-${messageCount}`
      const start: Unstamped<TextMessageStartEvent> = {
        type: EventType.TEXT_MESSAGE_START,
        messageId: open,
        role: 'assistant',
        name: place.agent,
      }
      emit(start)
    }
    told += delta
    emit({ type: EventType.TEXT_MESSAGE_CONTENT, messageId: open, delta })
  }

  function callTool({ id, name, args = {}, result, error }: ToolCallPart): void {
    if (!begun.has(id)) {
      endMessage()
      emit({ type: EventType.TOOL_CALL_START, toolCallId: id, toolCallName: name })
      emit({ type: EventType.TOOL_CALL_ARGS, toolCallId: id, delta: JSON.stringify(args) })
      emit({ type: EventType.TOOL_CALL_END, toolCallId: id })
      begun.set(id, { name, hasEnded: false })
    }
    const call = begun.get(id)
    if ((result === undefined && !error) || !call || call.hasEnded) return
    call.hasEnded = true
    const content = error ? error.message : typeof result === 'string' ? result : JSON.stringify(result as Json)
    emit({ type: EventType.TOOL_CALL_RESULT, messageId: `${id}-result`, toolCallId: id, role: 'tool', content })
  }

  function tell(part: Part, response: string): void {
    if (part.kind === 'tool_call') callTool(part)
    else if (part.kind === 'text') say(part.content, response)
    else say(`${told === '' || told.endsWith('\n') ? '' : '\n\n'}${writeReference(part, place.fileAddress)}`, response)
  }

  function endStep(response?: string): void {
    endMessage()
    if (!isStepOpen) return
    isStepOpen = false
    const latency_ms = Math.max(0, Math.round(now() - startedAt))
    const metadata = { run_id: runId, stage, latency_ms, message_id: response ?? `${stage}-${runId}` }
    emit({ type: EventType.STEP_FINISHED, stepName: stage, metadata })
  }

  function end(last: Unstamped<Event>): void {
    endStep()
    emit(last)
    isOver = true
  }

  return {
    start() {
      const parent = place.parentRunId === undefined ? {} : { parentRunId: place.parentRunId }
      emit({ type: EventType.RUN_STARTED, threadId, runId, protocolVersion: PROTOCOL_VERSION, ...parent })
      emit({ type: EventType.STEP_STARTED, stepName: stage })
      isStepOpen = true
    },
    snapshot: messages => emit({ type: EventType.MESSAGES_SNAPSHOT, messages } as Unstamped<Event>),
    warn: text => emit({ type: EventType.CUSTOM, name: 'warning', value: text }),
    piece(parts, response) {
      for (const part of parts) tell(part, response)
    },
    interim: parts => emit({ type: EventType.CUSTOM, name: 'working', value: plainTextOf(parts) }),
    complete(response) {
      const whole = plainTextOf(response.parts.filter(({ kind }) => kind === 'text'))
      const isUntold = told === '' && begun.size === 0
      for (const part of response.parts) {
        if (part.kind === 'tool_call') callTool(part)
        else if (isUntold) tell(part, response.id)
      }
      if (!isUntold && whole.startsWith(told)) say(whole.slice(told.length), response.id)
      endStep(response.id)
    },
    finish(ending) {
      const pendingToolCallIds = [...begun].filter(([, call]) => isLeft(call)).map(([id]) => id)
      end({ type: EventType.RUN_FINISHED, threadId, runId, outcome: writeOutcome(ending, pendingToolCallIds) })
    },
    fail: (message, code) => end({ type: EventType.RUN_ERROR, message, code }),
  }
}

function writeOutcome(ending: RunEnding, pendingToolCallIds: readonly string[]): RunFinishedOutcome {
  if (ending.kind === 'interrupt') return { type: 'interrupt', interrupts: [...ending.interrupts] }
  if (ending.kind === 'cancelled') return { type: 'cancelled' }
  return { type: 'success', ...(pendingToolCallIds.length > 0 && { pendingToolCallIds: [...pendingToolCallIds] }) }
}

/** What a text cannot show, as markdown: an assistant's content is one string. */
function writeReference(part: Part, fileAddress: RunPlace['fileAddress']): string {
  if (part.kind === 'link') return `[${part.title ?? part.url}](${part.url})`
  if (part.kind === 'policy') return part.policy.message
  if (part.kind !== 'file' && part.kind !== 'artifact') return ''
  const { bytes_ref, name = 'file' } = part
  const url = bytes_ref.kind === 'content_addressed' ? fileAddress?.(bytes_ref.digest) : undefined
  const address = url ?? (bytes_ref.kind === 'url' ? bytes_ref.url : undefined)
  return address === undefined ? name : `[${name}](${address})`
}

/** What keeps a run from going on: one interrupt for each demand, or the question itself. */
export function listInterrupts({ id, parts, status }: NormalizedResponse): readonly Interrupt[] {
  if (status !== 'input_required' && status !== 'auth_required') return []
  const demands = parts.flatMap(part => (part.kind === 'policy' && part.policy.demand ? [part.policy] : []))
  if (demands.length === 0) {
    const message = plainTextOf(parts)
    return [{ id, reason: 'input_required', ...(message !== '' && { message }) }]
  }
  return demands.map(({ kind, demand, message, expires_at, url, title }) => ({
    id: String(demand),
    reason: kind === 'consent_required' ? 'confirmation' : `postern:${kind}`,
    message,
    ...(typeof expires_at === 'string' && { expiresAt: expires_at }),
    ...(kind === 'consent_required' && { responseSchema: approvalSchema }),
    metadata: { kind, ...(url && { url }), ...(title && { title }) },
  }))
}

const approvalSchema = {
  type: 'object',
  properties: { approved: { type: 'boolean' } },
  required: ['approved'],
} as const
