import { createHash } from 'node:crypto'
import type { AgentContext, HistoricalMessage, Json, NormalizedMessage, Part } from '@postern/core'
import { plainTextOf } from '@postern/core'

/** What is kept of a conversation for the next run. */
export interface KeptRun {
  /** The server's state, as it said last. */
  readonly state?: Json | undefined
  /** Ids of the interrupts that the next message answers. */
  readonly interrupts?: readonly string[] | undefined
}

interface RunRequest {
  readonly agent: string
  readonly message: NormalizedMessage
  readonly context: Pick<AgentContext, 'correlationId' | 'flags' | 'history'>
  readonly kept: KeptRun
  /** The server has the conversation by its thread id: only what is new is sent. */
  readonly isKeptThere: boolean
  readonly forwardedProps: { readonly [name: string]: Json }
}

/** The body of a run (AG-UI 1.0, RunAgentInput; servers of 0.1 take it, too). */
export function describeRunInput({ agent, message, context, kept, isKeptThere, forwardedProps }: RunRequest): object {
  const { interrupts = [], state = {} } = kept
  const past = isKeptThere ? [] : context.history().turns.flatMap(writeTurn)
  const words = writeParts(message.parts)
  // The answer to a question of the server goes to the question.
  const isResuming = interrupts.length > 0
  return {
    threadId: toUuid([agent, message.received_via, message.thread_id]),
    runId: toUuid([agent, context.correlationId, message.id]),
    state,
    messages: isResuming ? past : [...past, { id: toUuid([message.id]), role: 'user', content: words }],
    tools: [],
    context: describeSender(message, context),
    forwardedProps,
    ...(isResuming && { resume: interrupts.map(interruptId => ({ interruptId, status: 'resolved', payload: words })) }),
  }
}

/** Ids of peers may tell who they are, and some servers take nothing but UUIDs. */
function toUuid(words: readonly string[]): string {
  const digest = createHash('sha256').update(JSON.stringify(words)).digest('hex')
  const pieces = [digest.slice(0, 8), digest.slice(8, 12), `8${digest.slice(13, 16)}`, `8${digest.slice(17, 20)}`]
  return [...pieces, digest.slice(20, 32)].join('-')
}

function writeTurn({ id, role, parts, timestamp, sender }: HistoricalMessage): readonly object[] {
  const content = writeParts(parts)
  return content === '' ? [] : [{ id: toUuid([id ?? '', timestamp, sender.address]), role, content }]
}

/** Text and links; files by their names. */
function writeParts(parts: readonly Part[]): string {
  const files = parts.flatMap(part =>
    part.kind === 'file' || part.kind === 'artifact'
      ? [`[${part.name ?? 'a file'}, ${part.mime ?? 'unknown type'}]`]
      : [],
  )
  return [plainTextOf(parts), ...files].filter(Boolean).join('\n\n')
}

/** Who writes, and how that is proven: data for the agent, never words of the sender. */
function describeSender({ sender, received_via }: NormalizedMessage, { flags = [] }: Pick<AgentContext, 'flags'>) {
  const { address, verified, auth_method } = sender
  const value = JSON.stringify({ address, verified, auth_method, received_via, flags })
  return [{ description: 'The sender of the last message, and how the gateway has proven them', value }]
}
