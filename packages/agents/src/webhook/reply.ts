// Reads a webhook's reply, or the result of another conversation runner, as an answer.

import { formatStatus, parseBoundedJson } from '@postern/http'
import type { FetchAnswer, Json, Part, PartialResponse, TokenUsage, ToolCallPart } from '@postern/message'
import { InvalidAnswer, parseAgentAnswer, parseJsonText, partialResponseSchema } from '@postern/message'
import type { AgentMessageEnvelope, ConversationRequest, ConversationResult, EnvelopeType } from '@postern/transcript'
import { reportConversation, runConversation, textOfEnvelopeContent } from '@postern/transcript'
import { z } from 'zod'
import { throwIfTransient } from '../kind/transient-status.ts'

const textShape = {
  /** One text part in Markdown, instead of `parts`. */
  text: z.string().optional(),
  /** The new state of the person, which replaces the present one. It counts only if `person` of the message has a `state`. */
  person_state: z.json().optional(),
}

/** A NormalizedResponse, or only its parts, a text, acts, notes or usage. Members that the gateway decides are ignored. */
export const replySchema = partialResponseSchema.extend(textShape).superRefine((reply, context) => {
  const { text, parts, status, acts, notes, usage, person_state } = reply
  if (text !== undefined && parts) context.addIssue({ code: 'custom', message: 'has both "text" and "parts"' })
  const hasEffects = [acts, notes, usage].some(list => list !== undefined && list.length > 0)
  if (text === undefined && !parts && !status && !hasEffects && person_state === undefined) {
    context.addIssue({ code: 'custom', message: 'has neither "text" nor "parts"; answer 204 to say nothing' })
  }
})

/**
 * Reads the reply of a webhook; undefined means that the agent says nothing. @throws Unavailable for 5xx, 408, 425 and 429, with their
 * Retry-After @throws Error for everything else, which fails the turn
 */
export function readWebhookReply(answer: FetchAnswer, now: number): WebhookReply | undefined {
  const reply = readWebhookAnswer(answer, now)
  return reply === undefined ? undefined : toReply(reply)
}

interface WebhookReply {
  /** The response; undefined if the reply says and does nothing. */
  readonly response: PartialResponse | undefined
  readonly personState: Json | undefined
}

/** Reads the JSON of an answer without a check; undefined means that the agent says nothing. @throws as `readWebhookReply` */
export function readWebhookAnswer(answer: FetchAnswer, now: number): unknown {
  const { status, url, body } = answer
  throwIfTransient({ serverName: 'webhook', url }, answer, now)
  if (status === 204) return undefined
  if (status !== 200) throw new Error(`The webhook answered ${formatStatus(url, answer)}; expected 200 or 204`)
  try {
    return parseBoundedJson(body, { label: 'webhook reply' })
  } catch (error) {
    throw error instanceof Error ? new InvalidAnswer(error.message) : error
  }
}

function toReply(value: unknown): WebhookReply {
  const { text, person_state: personState, ...response } = parseAgentAnswer(replySchema, value, 'webhook reply')
  if (text !== undefined) {
    return { response: { ...response, parts: [{ kind: 'text', mime: 'text/markdown', content: text }] }, personState }
  }
  return { response: Object.keys(response).length > 0 ? response : undefined, personState }
}

/**
 * Converts another runtime's result to an answer. No part of an unusable result is used. @throws Error if the result is unusable, a failure, or
 * empty
 */
export async function readConversationResult(request: ConversationRequest, result: unknown): Promise<PartialResponse> {
  const builtIn = () => {
    throw new Error('The runner answered null, and there is no loop here to leave it to')
  }
  const conversation = await runConversation(request, { foreign: async () => result, builtIn })
  if (conversation.error !== undefined) throw new Error(`The runner failed: ${String(conversation.error)}`)
  return toAnswer(conversation, listNewMessages(request.messages, conversation.messages))
}

/** Lists the new messages. Most runtimes return the whole conversation, some only the new messages. */
function listNewMessages(
  sentMessages: readonly AgentMessageEnvelope[],
  allMessages: readonly AgentMessageEnvelope[],
): readonly AgentMessageEnvelope[] {
  const isSameEnvelope = (first: AgentMessageEnvelope, second: AgentMessageEnvelope | undefined) =>
    JSON.stringify([first.type, first.role, first.content]) ===
    JSON.stringify([second?.type, second?.role, second?.content])
  return sentMessages.every((envelope, index) => isSameEnvelope(envelope, allMessages[index]))
    ? allMessages.slice(sentMessages.length)
    : allMessages
}

interface Draft {
  readonly parts: Part[]
  readonly trace: ToolCallPart[]
  isWaiting: boolean
  /** True if the answer has a message of the agent, even a blank one. */
  hasAnswered: boolean
}

function toAnswer(result: ConversationResult, messages: readonly AgentMessageEnvelope[]): PartialResponse {
  const draft: Draft = { parts: [], trace: [], isWaiting: false, hasAnswered: false }
  for (const envelope of messages) envelopeHandlers[envelope.type](envelope, draft)
  const { parts, trace } = draft
  if (parts.length === 0 && typeof result.final_content === 'string') addText(result.final_content, draft)
  if (!draft.hasAnswered) throw new Error('The runner answered nothing; it answers 204 to say nothing')
  const isUnfinished = draft.isWaiting || result.completed === false
  return {
    parts,
    status: isUnfinished ? 'input_required' : 'completed',
    ...(trace.length > 0 && { trace }),
    ...describeExecutions(result),
    ...readUsage(result),
  }
}

/** Describes the tools that ran only by names, counts and digests, if the runtime reports them. */
function describeExecutions(result: ConversationResult): Pick<PartialResponse, 'chat_metadata'> {
  if (result.tool_execution_results.length === 0) return {}
  const report = parseJsonText(JSON.stringify(reportConversation(result)))
  return { chat_metadata: { report } as NonNullable<PartialResponse['chat_metadata']> }
}

function addText(content: string, draft: Draft): void {
  const { parts } = draft
  draft.hasAnswered = true
  const last = parts.at(-1)
  const isRepeated = last?.kind === 'text' && last.content === content
  if (content.trim() !== '' && !isRepeated) parts.push({ kind: 'text', mime: 'text/markdown', content })
}

type EnvelopeHandler = (envelope: AgentMessageEnvelope, draft: Draft) => void

const addAgentText: EnvelopeHandler = ({ role, content }, draft) => {
  if (role === 'assistant') addText(textOfEnvelopeContent(content), draft)
}
const addQuestion: EnvelopeHandler = ({ content }, draft) => {
  addText(textOfEnvelopeContent(content), draft)
  draft.isWaiting = true
}

/** The handlers of envelopes, by type. Only complete messages of the agent belong to its answer. */
const envelopeHandlers: Readonly<Record<EnvelopeType, EnvelopeHandler>> = {
  text: addAgentText,
  multimodal_part: addAgentText,
  final_result: addAgentText,
  input_required: addQuestion,
  approval_required: addQuestion,
  delta: () => {},
  tool_call({ payload, metadata }, { trace }) {
    const name = typeof payload.tool_name === 'string' ? payload.tool_name : ''
    const id = typeof metadata.tool_call_id === 'string' ? metadata.tool_call_id : `${name}-${trace.length}`
    trace.push({ kind: 'tool_call', id, name, args: payload.parameters ?? {} })
  },
  tool_result({ payload, metadata, content }, { trace }) {
    const openIndex = trace.findIndex(
      call => isOpenCall(call) && isSameCall(call, metadata.tool_call_id, payload.tool_name),
    )
    const call = trace[openIndex]
    if (!call) return
    const hasFailed = payload.success === false || typeof payload.error === 'string'
    const message = typeof payload.error === 'string' ? payload.error : textOfEnvelopeContent(content)
    trace[openIndex] = { ...call, ...(hasFailed ? { error: { message } } : { result: payload.tool_data ?? content }) }
  },
  error({ content }) {
    throw new Error(`The runner failed: ${textOfEnvelopeContent(content)}`)
  },
}

const isOpenCall = ({ result, error }: ToolCallPart) => result === undefined && error === undefined

/** Returns true if a result belongs to a call: by its id, otherwise by its tool and as the first call without an end. */
function isSameCall(call: ToolCallPart, id: Json | undefined, name: Json | undefined): boolean {
  return typeof id === 'string' ? call.id === id : call.name === name
}

function readUsage({ usage }: ConversationResult): { readonly usage?: TokenUsage[] } {
  if (typeof usage !== 'object' || usage === null || Array.isArray(usage)) return {}
  const { prompt_tokens: input_tokens, completion_tokens: output_tokens } = usage as { readonly [name: string]: Json }
  const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0
  return isCount(input_tokens) && isCount(output_tokens) ? { usage: [{ input_tokens, output_tokens }] } : {}
}
