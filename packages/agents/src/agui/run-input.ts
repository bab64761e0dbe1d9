// Writes the body of a run: the conversation, its ids, and the author of the message.
import { createHash } from 'node:crypto'
import type { HistoricalMessage, Json, NormalizedMessage, Part } from '@postern/message'
import { isFilePart, plainTextOf } from '@postern/message'
import type { AgentContext } from '@postern/pipeline'
import { listMessagesOfTurn, quoteSpeakerLines } from '@postern/pipeline'
import type { OpenInterrupt } from './interrupts/open-interrupts.ts'
import { createResumeMembers } from './interrupts/resume.ts'

/** The data of a conversation that is stored between two runs. */
export interface StoredRunState {
  /** The latest state that the server has sent. */
  readonly state?: Json | undefined
  /** The open questions of the server. */
  readonly interrupts?: readonly (OpenInterrupt | string)[] | undefined
  /** The id of the answer that asks the open questions; absent in states of earlier releases. */
  readonly question?: string | undefined
  /** True if the questions were asked again because the server failed to process the answers. */
  readonly hasAskedAgain?: boolean | undefined
  /** The ids that the server gave its answers, keyed by Postern's ids of the same answers. */
  readonly answers?: Readonly<Record<string, string>> | undefined
}

export interface RunRequest {
  readonly agent: string
  readonly message: NormalizedMessage
  readonly context: Pick<AgentContext, 'correlationId' | 'history'>
  /** The entries of `context`. */
  readonly contextEntries: readonly object[]
  readonly storedRun: StoredRunState
  /** The server's questions with their answers; empty if the message answers none. */
  readonly answeredInterrupts: readonly OpenInterrupt[]
  /** True if the server stores the conversation under its thread id, so that only new messages are sent. */
  readonly keepsHistory: boolean
  readonly forwardedProps: { readonly [name: string]: Json }
}

/** A message of a run. */
interface RunMessage {
  readonly id: string
  readonly role: HistoricalMessage['role']
  readonly content: string
  /** The address of the writer, if the turn has several writers. */
  readonly name?: string
}

/** Returns the body of a run (AG-UI 1.0, RunAgentInput). Servers of AG-UI 0.1 accept this body, too. */
export function renderRunInput(request: RunRequest): object {
  const { agent, message, context, contextEntries, storedRun, answeredInterrupts, keepsHistory, forwardedProps } =
    request
  const { state = {}, answers = {} } = storedRun
  const historyMessages = keepsHistory ? [] : context.history().turns.flatMap(turn => renderTurn(turn, answers))
  return {
    threadId: deriveThreadId(agent, message),
    runId: deriveUuid([agent, context.correlationId, message.id]),
    state,
    // The answer to a question of the server is sent with the question, not as a message.
    messages: answeredInterrupts.length > 0 ? historyMessages : [...historyMessages, ...renderNewMessages(message)],
    tools: [],
    context: contextEntries,
    ...createResumeMembers(answeredInterrupts, forwardedProps),
  }
}

/** Returns the text of a message in the form that every run has it. */
export function renderMessageText({ parts }: Pick<NormalizedMessage, 'parts'>): string {
  return renderParts(parts.map(quoteSpeakerLines))
}

/**
 * Returns the id under which the server stores the conversation. A conversation from a release that gave agents the wire's own id keeps
 * the id that the server already has for it.
 */
function deriveThreadId(agent: string, { received_via, thread_id, thread_source }: NormalizedMessage): string {
  return deriveUuid(thread_id === thread_source ? [agent, received_via, thread_id] : [agent, thread_id])
}

/** Derives a UUID of version 8 (RFC 9562), because ids of peers may reveal who they are, and some servers accept only UUIDs. */
function deriveUuid(components: readonly string[]): string {
  const digest = createHash('sha256').update(JSON.stringify(components)).digest('hex')
  const pieces = [digest.slice(0, 8), digest.slice(8, 12), `8${digest.slice(13, 16)}`, `8${digest.slice(17, 20)}`]
  return [...pieces, digest.slice(20, 32)].join('-')
}

/** Renders the message and the earlier messages that were merged into its turn, each under its own id. */
function renderNewMessages({ id, merged = [], parts }: NormalizedMessage): readonly RunMessage[] {
  let start = 0
  const earlierMessages = merged.map(({ id: earlierId, part_count }) => {
    const messageParts = parts.slice(start, start + part_count)
    start += part_count
    return renderMessage(earlierId, 'user', renderMessageText({ parts: messageParts }))
  })
  const newMessage = renderMessage(id, 'user', renderMessageText({ parts: parts.slice(start) }))
  return [...earlierMessages.filter(({ content }) => content !== ''), newMessage]
}

/**
 * Renders the messages of a turn. A turn merges messages that no answer separates, but each keeps its id, because the server may already have
 * received that message. In a turn with several writers, each message has the name of its writer.
 */
function renderTurn(turn: HistoricalMessage, answers: NonNullable<StoredRunState['answers']>): readonly RunMessage[] {
  return listMessagesOfTurn(turn).flatMap(message => {
    const name = turn.writers && turn.role === 'user' ? { name: message.sender.address } : {}
    return renderHistoricalMessage(message, answers).map(runMessage => ({ ...runMessage, ...name }))
  })
}

function renderHistoricalMessage(
  { id = '', role, parts }: HistoricalMessage,
  answers: NonNullable<StoredRunState['answers']>,
): readonly RunMessage[] {
  const content = renderParts(parts)
  if (content === '') return []
  const serverId = role === 'assistant' && Object.hasOwn(answers, id) ? answers[id] : undefined
  return [serverId === undefined ? renderMessage(id, role, content) : { id: serverId, role, content }]
}

/**
 * Returns a message whose id also depends on its text. A server with a checkpointer skips ids that it has, and LangGraph rewinds to a message
 * whose text has changed.
 */
function renderMessage(id: string, role: RunMessage['role'], content: string): RunMessage {
  return { id: deriveUuid([id, content]), role, content }
}

/** Writes text and links as they are, and files as their names. */
function renderParts(parts: readonly Part[]): string {
  const files = parts.flatMap(part =>
    isFilePart(part) ? [`[${part.name ?? 'a file'}, ${part.mime ?? 'unknown type'}]`] : [],
  )
  return [plainTextOf(parts), ...files].filter(Boolean).join('\n\n')
}
