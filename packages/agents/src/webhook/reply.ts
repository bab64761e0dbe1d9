import type { FetchAnswer, Json, Part, PartialResponse, TokenUsage, ToolCallPart } from '@postern/core'
import { parseJsonText, partialResponseSchema } from '@postern/core'
import { parseBoundedJson } from '@postern/http'
import type { AgentMessageEnvelope, ConversationRequest, ConversationResult, EnvelopeType } from '@postern/transcript'
import { reportConversation, runConversation, textOfEnvelopeContent } from '@postern/transcript'
import { z } from 'zod'
import { checkPassingStatus } from '../kind/passing-status.ts'

const textShape = {
  /** One text part in Markdown, instead of `parts`. */
  text: z.string().optional(),
}

/** A NormalizedResponse, or only its parts, only a text, or only acts, notes or usage; members that the gateway decides are ignored. */
export const replySchema = partialResponseSchema.extend(textShape).superRefine((reply, context) => {
  const { text, parts, status, acts, notes, usage } = reply
  if (text !== undefined && parts) context.addIssue({ code: 'custom', message: 'has both "text" and "parts"' })
  const isDone = [acts, notes, usage].some(list => list !== undefined && list.length > 0)
  if (text === undefined && !parts && !status && !isDone) {
    context.addIssue({ code: 'custom', message: 'has neither "text" nor "parts"; answer 204 to say nothing' })
  }
})

/**
 * What a webhook answered: undefined for "say nothing".
 * @throws Unavailable for 5xx, 408, 425 and 429, with their Retry-After
 * @throws Error for everything else: the turn has failed
 */
export function readWebhookReply(answer: FetchAnswer, now: number): PartialResponse | undefined {
  const reply = readWebhookAnswer(answer, now)
  return reply === undefined ? undefined : toPartialResponse(reply)
}

/** The JSON of an answer, whatever it is; undefined for "say nothing". @throws as `readWebhookReply` */
export function readWebhookAnswer(answer: FetchAnswer, now: number): unknown {
  const { status, body } = answer
  checkPassingStatus('webhook', answer, now)
  if (status === 204) return undefined
  if (status !== 200) throw new Error(`The webhook answered ${status}; expected 200 or 204`)
  return parseBoundedJson(body, { what: 'webhook reply' })
}

function toPartialResponse(value: unknown): PartialResponse {
  const parsed = replySchema.safeParse(value)
  if (!parsed.success) throw new Error(`Cannot read webhook reply: ${describeIssues(parsed.error)}`)
  const { text, ...response } = parsed.data
  return text === undefined
    ? response
    : { ...response, parts: [{ kind: 'text', mime: 'text/markdown', content: text }] }
}

/** The place and the fault, never the value itself. */
function describeIssues({ issues }: z.ZodError): string {
  const described = issues.slice(0, 3).map(({ path, message }) => `${path.join('.') || 'it'} ${message}`)
  return described.join('; ')
}

/**
 * Converts another runtime's result to an answer. Nothing of an unusable result is kept. @throws Error for such a result, for a failure,
 * and for an empty one
 */
export async function readConversationResult(request: ConversationRequest, result: unknown): Promise<PartialResponse> {
  const builtIn = () => {
    throw new Error('The runner answered null, and there is no loop here to leave it to')
  }
  const read = await runConversation(request, { foreign: async () => result, builtIn })
  if (read.error !== undefined) throw new Error(`The runner failed: ${String(read.error)}`)
  return toAnswer(read, listNew(request.messages, read.messages))
}

/** Most runtimes return the whole conversation, some only the new part. */
function listNew(
  given: readonly AgentMessageEnvelope[],
  all: readonly AgentMessageEnvelope[],
): readonly AgentMessageEnvelope[] {
  const isSame = (one: AgentMessageEnvelope, other: AgentMessageEnvelope | undefined) =>
    JSON.stringify([one.type, one.role, one.content]) === JSON.stringify([other?.type, other?.role, other?.content])
  return given.every((envelope, index) => isSame(envelope, all[index])) ? all.slice(given.length) : all
}

interface Draft {
  readonly parts: Part[]
  readonly trace: ToolCallPart[]
  isWaiting: boolean
}

function toAnswer(result: ConversationResult, said: readonly AgentMessageEnvelope[]): PartialResponse {
  const draft: Draft = { parts: [], trace: [], isWaiting: false }
  for (const envelope of said) readers[envelope.type](envelope, draft)
  const { parts, trace } = draft
  if (parts.length === 0 && typeof result.final_content === 'string') say(result.final_content, draft)
  if (parts.length === 0) throw new Error('The runner answered nothing; it answers 204 to say nothing')
  const isOpen = draft.isWaiting || result.completed === false
  return {
    parts,
    status: isOpen ? 'input_required' : 'completed',
    ...(trace.length > 0 && { trace }),
    ...describeExecutions(result),
    ...readUsage(result),
  }
}

/** What ran, by names, counts and digests alone, if the runtime says so. */
function describeExecutions(result: ConversationResult): Pick<PartialResponse, 'chat_metadata'> {
  if (result.tool_execution_results.length === 0) return {}
  const report = parseJsonText(JSON.stringify(reportConversation(result)))
  return { chat_metadata: { report } as NonNullable<PartialResponse['chat_metadata']> }
}

function say(content: string, { parts }: Draft): void {
  const last = parts.at(-1)
  const isSaid = last?.kind === 'text' && last.content === content
  if (content.trim() !== '' && !isSaid) parts.push({ kind: 'text', mime: 'text/markdown', content })
}

type Reader = (envelope: AgentMessageEnvelope, draft: Draft) => void

const sayOwn: Reader = ({ role, content }, draft) => {
  if (role === 'assistant') say(textOfEnvelopeContent(content), draft)
}
const askOn: Reader = ({ content }, draft) => {
  say(textOfEnvelopeContent(content), draft)
  draft.isWaiting = true
}

/** Only complete messages of the agent belong to its answer. */
const readers: Readonly<Record<EnvelopeType, Reader>> = {
  text: sayOwn,
  multimodal_part: sayOwn,
  final_result: sayOwn,
  input_required: askOn,
  approval_required: askOn,
  delta: () => {},
  tool_call({ payload, metadata }, { trace }) {
    const name = typeof payload.tool_name === 'string' ? payload.tool_name : ''
    const id = typeof metadata.tool_call_id === 'string' ? metadata.tool_call_id : `${name}-${trace.length}`
    trace.push({ kind: 'tool_call', id, name, args: payload.parameters ?? {} })
  },
  tool_result({ payload, metadata, content }, { trace }) {
    const open = trace.findIndex(call => isOpen(call) && isOf(call, metadata.tool_call_id, payload.tool_name))
    const call = trace[open]
    if (!call) return
    const failed = payload.success === false || typeof payload.error === 'string'
    const message = typeof payload.error === 'string' ? payload.error : textOfEnvelopeContent(content)
    trace[open] = { ...call, ...(failed ? { error: { message } } : { result: payload.tool_data ?? content }) }
  },
  error({ content }) {
    throw new Error(`The runner failed: ${textOfEnvelopeContent(content)}`)
  },
}

const isOpen = ({ result, error }: ToolCallPart) => result === undefined && error === undefined

/** By its id, or else by its tool: the first one without an end. */
function isOf(call: ToolCallPart, id: Json | undefined, name: Json | undefined): boolean {
  return typeof id === 'string' ? call.id === id : call.name === name
}

function readUsage({ usage }: ConversationResult): { readonly usage?: TokenUsage[] } {
  if (typeof usage !== 'object' || usage === null || Array.isArray(usage)) return {}
  const { prompt_tokens: input_tokens, completion_tokens: output_tokens } = usage as { readonly [name: string]: Json }
  const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0
  return isCount(input_tokens) && isCount(output_tokens) ? { usage: [{ input_tokens, output_tokens }] } : {}
}
