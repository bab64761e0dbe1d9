// Collects the pieces of an agent's answer.

import type { NormalizedResponse, Part, PartialResponse, ToolCallPart } from '@postern/message'
import {
  createPieceJoints,
  givenPartSchema,
  parseAgentAnswer,
  partialResponseSchema,
  sectionOf,
  sumUsage,
  toWellFormed,
  withSafeFileNames,
} from '@postern/message'
import type { AgentAnswer, AgentChunk } from '../../ports/agent/agent.ts'
import { AnswerSize, StreamPauses } from '../limits/answer-size.ts'

/**
 * Reads the whole answer of an agent. `onChunk` gets every piece of a streamed answer as it arrives. The text of an interim piece (status `working`)
 * is not part of the answer, unless it is the last piece; its actions are. All text is well formed: if two pieces split a character, its halves are
 * joined.
 * @throws Error if a piece is not a string, a part or a response, or if the answer is too large
 */
export async function collectAnswer(
  answer: AgentAnswer | AsyncIterable<AgentChunk>,
  onChunk: (chunk: PartialResponse) => unknown,
): Promise<PartialResponse | undefined> {
  if (answer === undefined) return undefined
  if (!isIterable(answer)) return toWellFormed(new AnswerSize().count(toPartial(answer)))
  let collected: PartialResponse | undefined
  let last: PartialResponse | undefined
  for await (const chunk of readPieces(answer)) {
    if (last) collected = mergePartials(collected ?? {}, toLastingMembers(last))
    last = chunk
    const handled = onChunk(chunk)
    if (handled instanceof Promise) await handled
  }
  return last && mergePartials(collected ?? {}, last)
}

/** Reads the pieces and joins split characters. Interim pieces stand alone, and may come between the two halves of a character. */
async function* readPieces(chunks: AsyncIterable<AgentChunk>): AsyncGenerator<PartialResponse> {
  const joints = createPieceJoints()
  const size = new AnswerSize()
  const pauses = new StreamPauses()
  for await (const chunk of chunks) {
    const piece = size.count(toPartial(chunk))
    await pauses.take()
    if (isInterim(piece)) yield toWellFormed(piece)
    else {
      // A question, a refusal and a failure stay apart from the text before them.
      if (piece.status !== undefined && !isResultStatus(piece.status)) yield* joints.end()
      yield joints.next(piece)
    }
  }
  yield* joints.end()
}

/**
 * Returns the members of a piece that remain once another piece follows: of an interim piece, its actions and tokens. The status `working` is
 * dropped, because the piece was not the end.
 */
function toLastingMembers(chunk: PartialResponse): PartialResponse {
  if (isInterim(chunk)) return { acts: chunk.acts, notes: chunk.notes, usage: chunk.usage }
  const { status, ...otherMembers } = chunk
  return status === 'working' ? otherMembers : chunk
}

/** Returns true if a piece is an interim one, which the following answer replaces. */
export function isInterim({ status, parts }: PartialResponse): boolean {
  return status === 'working' && parts !== undefined && parts.length > 0
}

/** Returns true if an answer is streamed in pieces. */
export function isIterable(answer: object | string): answer is AsyncIterable<AgentChunk> {
  return typeof answer === 'object' && Symbol.asyncIterator in answer
}

/** Reads one piece of an answer. @throws Error if it is not a string, a part or a response */
export function toPartial(chunk: AgentChunk | NormalizedResponse): PartialResponse {
  if (typeof chunk === 'string') return { parts: [{ kind: 'text', mime: 'text/markdown', content: chunk }] }
  const isPart = typeof chunk === 'object' && chunk !== null && 'kind' in chunk
  if (isPart) return { parts: [...withSafeFileNames([parseAgentAnswer(givenPartSchema, chunk)])] }
  const partial = parseAgentAnswer(partialResponseSchema, chunk)
  return partial.parts ? { ...partial, parts: [...withSafeFileNames(partial.parts)] } : partial
}

/** Joins two pieces. It drops withheld text, which is not part of the answer and which readers of the single pieces already have. */
function mergePartials(before: PartialResponse, { withheld: _, ...next }: PartialResponse): PartialResponse {
  const acts = [...(before.acts ?? []), ...(next.acts ?? [])]
  const notes = [...(before.notes ?? []), ...(next.notes ?? [])]
  const usage = next.usage ? sumUsage([...(before.usage ?? []), ...next.usage]) : before.usage
  const resultCount = countResults(before, next)
  const parts = joinParts(before.parts, next.parts, resultCount === before.parts?.length)
  const earlierTrace: readonly Part[] = before.trace ?? []
  const trace = (next.trace ?? []).reduce<readonly Part[]>(appendPart, earlierTrace).filter(isCall)
  return {
    ...before,
    ...next,
    ...(parts && { parts }),
    results: resultCount,
    ...(acts.length > 0 && { acts }),
    // The last value of each name wins.
    ...(before.chat_metadata && { chat_metadata: { ...before.chat_metadata, ...next.chat_metadata } }),
    ...(notes.length > 0 && { notes }),
    ...(trace.length > 0 && { trace }),
    ...(usage && { usage }),
  }
}

/** Counts the parts before a question, a refusal or a failure, which watchers already have as a result (A2A artifacts cannot be withdrawn). */
function countResults(before: PartialResponse, { status }: PartialResponse): number | undefined {
  if (status === undefined) return before.results
  if (isResultStatus(status)) return undefined
  const isFirst = before.status === undefined || isResultStatus(before.status)
  return before.results ?? (isFirst ? before.parts?.length || undefined : undefined)
}

function isResultStatus(status: PartialResponse['status']): boolean {
  return status === 'completed' || status === 'working'
}

/** Joins the parts of pieces. Returns undefined while no piece has had parts, because actions and tokens alone are no content. */
function joinParts(
  before: PartialResponse['parts'],
  next: PartialResponse['parts'],
  staysApart: boolean,
): PartialResponse['parts'] {
  return before || next ? appendParts(before ?? [], next ?? [], { staysApart }) : undefined
}

/** Adds the parts of one piece. Its first text continues the last one, unless it `staysApart`; its other texts become parts of their own. */
export function appendParts(
  before: readonly Part[],
  [first, ...laterParts]: readonly Part[],
  { staysApart = false }: { readonly staysApart?: boolean } = {},
): Part[] {
  if (first === undefined) return [...before]
  const withFirst = staysApart && first.kind === 'text' ? [...before, first] : appendPart(before, first)
  let parts = withFirst
  for (const part of laterParts) {
    if (part.kind === 'text') parts.push(part)
    else parts = appendPart(parts, part)
  }
  return parts
}

export function isCall(part: Part): part is ToolCallPart {
  return part.kind === 'tool_call'
}

/** Adds a part. Streamed text of one kind continues in its section; a tool call with a known id replaces the beginning of that call. */
function appendPart(parts: readonly Part[], part: Part): Part[] {
  if (part.kind === 'text') {
    const section = sectionOf(part)?.id
    const textIndex = parts.findLastIndex(earlier => sectionOf(earlier)?.id === section)
    const last = parts[textIndex]
    if (last?.kind !== 'text' || last.mime !== part.mime) return [...parts, part]
    return parts.with(textIndex, { ...last, content: last.content + part.content })
  }
  const callIndex =
    part.kind === 'tool_call' ? parts.findIndex(earlier => earlier.kind === 'tool_call' && earlier.id === part.id) : -1
  return callIndex < 0 ? [...parts, part] : parts.with(callIndex, part)
}
