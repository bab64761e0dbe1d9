import { planActions, storeFilesFor } from '../actions/plan-actions.ts'
import type { Json } from '../format/notations.ts'
import { collapseCalls } from '../history/history.ts'
import { chooseMentions, defaultMaxMentions } from '../message/address/address.ts'
import type { AgentAction } from '../message/agent-action.ts'
import type { Part, ToolCallPart } from '../message/part.ts'
import { partSchema } from '../message/part.ts'
import type { NormalizedResponse, PartialResponse } from '../message/response.ts'
import { isFilePart, normalizedResponseSchema, partialResponseSchema } from '../message/response.ts'
import type { TokenUsage } from '../message/token-usage.ts'
import { sumUsage } from '../message/token-usage.ts'
import type { AgentAnswer, AgentChunk } from '../ports/agent/agent.ts'
import type { TurnContext } from '../ports/agent/turn-context.ts'
import type { Addressing } from '../ports/channel.ts'
import { findChannel } from '../ports/channel.ts'
import { isoTime, makeId, randomHex } from '../ports/platform/platform.ts'
import type { Answer, PlannedAction, Turn } from '../ports/records/work.ts'

/**
 * Reads whatever an agent handed over to its end. `onChunk` sees every piece of a streamed answer as it comes. What is said meanwhile
 * (status `working`) is no part of the answer, unless nothing follows it; what is done by it is.
 * @throws Error when a piece is not a string, a part or a response
 */
export async function collectAnswer(
  answer: AgentAnswer | AsyncIterable<AgentChunk>,
  onChunk: (chunk: PartialResponse) => unknown,
): Promise<PartialResponse | undefined> {
  if (answer === undefined) return undefined
  if (!isIterable(answer)) return toPartial(answer)
  let collected: PartialResponse | undefined
  let last: PartialResponse | undefined
  for await (const chunk of answer) {
    if (last) collected = mergePartials(collected ?? {}, whatStays(last))
    last = toPartial(chunk)
    const seen = onChunk(last)
    if (seen instanceof Promise) await seen
  }
  return last && mergePartials(collected ?? {}, last)
}

/** What is left of a piece once another one follows: what was done and spent by what was said meanwhile, and no `working`, for it was not the end. */
function whatStays(chunk: PartialResponse): PartialResponse {
  if (isInterim(chunk)) return { acts: chunk.acts, notes: chunk.notes, usage: chunk.usage }
  const { status, ...others } = chunk
  return status === 'working' ? others : chunk
}

/** Said meanwhile: more follows, and takes its place. */
export function isInterim({ status, parts }: PartialResponse): boolean {
  return status === 'working' && parts !== undefined && parts.length > 0
}

/** Completes what an agent said with what the gateway knows. @throws Error when it is not a valid response */
export function completeResponse(
  partial: PartialResponse,
  turn: Pick<Turn, 'content'>,
  { id, createdAt }: { readonly id: string; readonly createdAt: string },
): NormalizedResponse {
  const { content } = turn
  const { usage = [], ...said } = partial
  return normalizedResponseSchema.parse({
    ...said,
    ...(said.trace && { trace: collapseCalls(said.trace) }),
    ...(usage.length > 0 && { usage: sumUsage(usage) }),
    id,
    thread_id: content.thread_id,
    in_reply_to: content.id,
    sender: content.recipient,
    parts: partial.parts ?? [],
    status: partial.status ?? 'completed',
    created_at: createdAt,
  })
}

/** What the peer sees when an agent fails: neutral, with an id the operator can look up. */
export function failedAnswer(correlationId: string): PartialResponse {
  const content = `Sorry, this could not be answered. Reference: ${correlationId}`
  return { status: 'failed', parts: [{ kind: 'text', mime: 'text/plain', content }] }
}

function isIterable(answer: object | string): answer is AsyncIterable<AgentChunk> {
  return typeof answer === 'object' && Symbol.asyncIterator in answer
}

function toPartial(chunk: AgentChunk | NormalizedResponse): PartialResponse {
  if (typeof chunk === 'string') return { parts: [{ kind: 'text', mime: 'text/markdown', content: chunk }] }
  if ('kind' in chunk) return { parts: [partSchema.parse(chunk)] }
  return partialResponseSchema.parse(chunk)
}

function mergePartials(before: PartialResponse, next: PartialResponse): PartialResponse {
  const acts = [...(before.acts ?? []), ...(next.acts ?? [])]
  const notes = [...(before.notes ?? []), ...(next.notes ?? [])]
  const usage = next.usage ? sumUsage([...(before.usage ?? []), ...next.usage]) : before.usage
  const results = countResults(before, next)
  const parts = appendAll(before.parts ?? [], next.parts ?? [], results === before.parts?.length)
  const known: readonly Part[] = before.trace ?? []
  const trace = (next.trace ?? []).reduce<readonly Part[]>(appendPart, known).filter(isCall)
  return {
    ...before,
    ...next,
    parts,
    results,
    ...(acts.length > 0 && { acts }),
    // Of each name the last one stands.
    ...(before.chat_metadata && { chat_metadata: { ...before.chat_metadata, ...next.chat_metadata } }),
    ...(notes.length > 0 && { notes }),
    ...(trace.length > 0 && { trace }),
    ...(usage && { usage }),
  }
}

/** Those who watch have had the pieces before a question, a refusal or a failure as a result (A2A artifacts cannot be taken back). */
function countResults(before: PartialResponse, { status }: PartialResponse): number | undefined {
  if (status === undefined) return before.results
  if (isResultStatus(status)) return undefined
  const isFirst = before.status === undefined || isResultStatus(before.status)
  return before.results ?? (isFirst ? before.parts?.length || undefined : undefined)
}

function isResultStatus(status: PartialResponse['status']): boolean {
  return status === 'completed' || status === 'working'
}

/** `staysApart`: text does not run on from what is there. */
function appendAll(before: readonly Part[], [first, ...others]: readonly Part[], staysApart: boolean): Part[] {
  if (first === undefined) return [...before]
  const begun = staysApart && first.kind === 'text' ? [...before, first] : appendPart(before, first)
  return others.reduce(appendPart, begun)
}

function isCall(part: Part): part is ToolCallPart {
  return part.kind === 'tool_call'
}

/** Streamed text of one kind runs on; a tool call that comes again under its id replaces its beginning. */
export function appendPart(parts: readonly Part[], part: Part): Part[] {
  const last = parts.at(-1)
  if (part.kind === 'text' && last?.kind === 'text' && last.mime === part.mime) {
    return [...parts.slice(0, -1), { ...last, content: last.content + part.content }]
  }
  const begun =
    part.kind === 'tool_call' ? parts.findIndex(earlier => earlier.kind === 'tool_call' && earlier.id === part.id) : -1
  return begun < 0 ? [...parts, part] : parts.with(begun, part)
}

/** What a turn's answer is called, and what it has said meanwhile. */
export interface AnswerDraft {
  readonly id: string
  /** Set once something was said: what follows takes its place. */
  said?: { readonly createdAt: string; readonly rendering: Json | undefined } | undefined
  /** What was heard of it as it came. */
  heard?: readonly Part[] | undefined
  /** Who spoke last, where several agents stand behind one address. */
  speaker?: string | undefined
  /** What the agent has spent on it so far. */
  usage?: TokenUsage[] | undefined
}

export type Said = Answer & { readonly response: NormalizedResponse }

/** An answer with every delivery it causes. @throws Error when it is not a valid response */
export function planAnswer(turn: Turn, turnContext: TurnContext, partial: PartialResponse, draft: AnswerDraft): Said {
  const channel = findChannel(turnContext.channels, turn.via)
  const given = partial.parts ?? []
  const { parts, blobs } =
    given.some(isFilePart) || given.some(isCall)
      ? storeFilesFor(channel, given, turnContext)
      : { parts: [...given], blobs: [] }
  const createdAt = draft.said?.createdAt ?? isoTime(turnContext.platform.now())
  const woken = whomItWakes(turn, turnContext, partial)
  const response = completeResponse({ ...partial, ...woken, parts }, turn, { id: draft.id, createdAt })
  const addressing = draft.said
    ? addressRevision(turn, turnContext, response, draft)
    : channel?.address({ turn, response })
  const { aliases = [], deliveries, broadcasts, isListed, rendering } = addressing ?? { deliveries: [] }
  return {
    response,
    aliases,
    deliveries,
    ...(broadcasts && { broadcasts }),
    ...(blobs.length > 0 && { blobs }),
    ...(isListed && { isListed }),
    ...(rendering !== undefined && { rendering }),
    ...(draft.said && { isRevision: true }),
  }
}

function whomItWakes({ content }: Turn, { fanout }: TurnContext, { mentions }: PartialResponse): PartialResponse {
  if (!mentions) return {}
  // Whether the sender is answered anyway, the channel knows: one agent of ours that is handed a mail by another answers the people.
  return {
    mentions: [
      ...chooseMentions(mentions, { without: [content.recipient], most: fanout?.maxMentions ?? defaultMaxMentions }),
    ],
  }
}

function addressRevision(
  { via, agent, content: message, target }: Turn,
  { channels, platform }: TurnContext,
  response: NormalizedResponse,
  { said }: AnswerDraft,
): Addressing | undefined {
  const action = {
    act: 'edit',
    agent,
    id: randomHex(platform, 8),
    at: isoTime(platform.now()),
    response,
    message,
    target,
  } as const
  return findChannel(channels, via)?.addressAction?.({ ...action, rendering: said?.rendering })
}

export function planTurnActions(
  turn: Turn,
  turnContext: TurnContext,
  acts: readonly AgentAction[],
): Promise<readonly PlannedAction[]> {
  const { agent, content, via } = turn
  const { agent_chain: chain } = content.recipient_capabilities
  return planActions(acts, { agent, address: content.recipient, message: content.id, via, chain }, turnContext)
}

/** A channel that cannot address even this must not keep the turn from ending. */
export function planFailure(turn: Turn, turnContext: TurnContext, error: string, draft?: AnswerDraft): Answer {
  const failed = { ...failedAnswer(turn.correlationId), usage: draft?.usage }
  const named = draft ?? { id: makeId(turnContext.platform) }
  try {
    const said = planAnswer(turn, turnContext, failed, named)
    const unfinished = named.heard?.filter(({ kind }) => kind === 'text') ?? []
    return { ...said, error, ...(unfinished.length > 0 && { response: { ...said.response, unfinished } }) }
  } catch (cause) {
    turnContext.platform.log.error(
      { correlation_id: turn.correlationId, via: turn.via, err: cause },
      'answer not addressable',
    )
    const createdAt = isoTime(turnContext.platform.now())
    return { response: completeResponse(failed, turn, { id: named.id, createdAt }), deliveries: [], error }
  }
}
