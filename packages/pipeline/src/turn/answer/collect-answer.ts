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
import { AnswerSize } from '../limits/answer-size.ts'
import { StreamPauses } from '../limits/stream-pauses.ts'

/**
 * Reads the whole answer of an agent. `onChunk` gets every piece of a streamed answer as it arrives. The text of an interim piece (status `working`)
 * is part of the answer only if the piece is the last one. Its actions are always part of the answer. All text is well formed: if two pieces split a character, its halves are
 * joined.
 * @throws Error if a piece is not a string, a part or a response, or if the answer is too large
 */
export async function collectAnswer(
  answer: AgentAnswer | AsyncIterable<AgentChunk>,
  onChunk: (chunk: PartialResponse) => unknown,
): Promise<PartialResponse | undefined> {
  if (answer === undefined) return undefined
  if (!isIterable(answer)) return toWellFormed(new AnswerSize().count(toPartial(answer)))
  let collectedAnswer: PartialResponse | undefined
  let lastPiece: PartialResponse | undefined
  for await (const chunk of readPieces(answer)) {
    if (lastPiece) collectedAnswer = mergePartials(collectedAnswer ?? {}, dropInterimMembers(lastPiece))
    lastPiece = chunk
    const chunkResult = onChunk(chunk)
    if (chunkResult instanceof Promise) await chunkResult
  }
  return lastPiece && mergePartials(collectedAnswer ?? {}, lastPiece)
}

/** Reads the pieces and joins split characters. Interim pieces stand alone, and may come between the two halves of a character. */
async function* readPieces(chunks: AsyncIterable<AgentChunk>): AsyncGenerator<PartialResponse> {
  const characterJoiner = createPieceJoints()
  const size = new AnswerSize()
  const pauses = new StreamPauses()
  for await (const chunk of chunks) {
    const piece = size.count(toPartial(chunk))
    await pauses.findPause()
    if (isInterim(piece)) yield toWellFormed(piece)
    else {
      // A question, a refusal and a failure stay apart from the text before them.
      if (piece.status !== undefined && !isResultStatus(piece.status)) yield* characterJoiner.end()
      yield characterJoiner.next(piece)
    }
  }
  yield* characterJoiner.end()
}

/**
 * Returns the members of a piece that remain once another piece follows. Only the actions, notes and tokens of an interim piece remain. The status
 * `working` is dropped, because the piece was not the last one.
 */
function dropInterimMembers(chunk: PartialResponse): PartialResponse {
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
function mergePartials(
  earlierPieces: PartialResponse,
  { withheld: _, ...nextPiece }: PartialResponse,
): PartialResponse {
  const acts = [...(earlierPieces.acts ?? []), ...(nextPiece.acts ?? [])]
  const notes = [...(earlierPieces.notes ?? []), ...(nextPiece.notes ?? [])]
  const usage = nextPiece.usage ? sumUsage([...(earlierPieces.usage ?? []), ...nextPiece.usage]) : earlierPieces.usage
  const resultCount = countResults(earlierPieces, nextPiece)
  const parts = joinParts(earlierPieces.parts, nextPiece.parts, resultCount === earlierPieces.parts?.length)
  const earlierTrace: readonly Part[] = earlierPieces.trace ?? []
  const trace = (nextPiece.trace ?? []).reduce<readonly Part[]>(appendPart, earlierTrace).filter(isCall)
  return {
    ...earlierPieces,
    ...nextPiece,
    ...(parts && { parts }),
    results: resultCount,
    ...(acts.length > 0 && { acts }),
    // The last value of each name wins.
    ...(earlierPieces.chat_metadata && {
      chat_metadata: { ...earlierPieces.chat_metadata, ...nextPiece.chat_metadata },
    }),
    ...(notes.length > 0 && { notes }),
    ...(trace.length > 0 && { trace }),
    ...(usage && { usage }),
  }
}

/**
 * Counts the parts that watchers already have as a result when a question, a refusal or a failure follows them. A2A artifacts cannot be withdrawn.
 */
function countResults(earlierPieces: PartialResponse, { status }: PartialResponse): number | undefined {
  if (status === undefined) return earlierPieces.results
  if (isResultStatus(status)) return undefined
  const isFirst = earlierPieces.status === undefined || isResultStatus(earlierPieces.status)
  return earlierPieces.results ?? (isFirst ? earlierPieces.parts?.length || undefined : undefined)
}

function isResultStatus(status: PartialResponse['status']): boolean {
  return status === 'completed' || status === 'working'
}

/** Joins the parts of pieces. Returns undefined while no piece has had parts, because actions and tokens alone are no content. */
function joinParts(
  earlierParts: PartialResponse['parts'],
  nextParts: PartialResponse['parts'],
  staysApart: boolean,
): PartialResponse['parts'] {
  return earlierParts || nextParts ? appendParts(earlierParts ?? [], nextParts ?? [], { staysApart }) : undefined
}

/** Adds the parts of one piece. Its first text continues the last text unless it `staysApart`. Its other texts become separate parts. */
export function appendParts(
  earlierParts: readonly Part[],
  [firstPart, ...laterParts]: readonly Part[],
  { staysApart = false }: { readonly staysApart?: boolean } = {},
): Part[] {
  if (firstPart === undefined) return [...earlierParts]
  const partsWithFirst =
    staysApart && firstPart.kind === 'text' ? [...earlierParts, firstPart] : appendPart(earlierParts, firstPart)
  let parts = partsWithFirst
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
    const textIndex = parts.findLastIndex(earlierPart => sectionOf(earlierPart)?.id === section)
    const lastText = parts[textIndex]
    if (lastText?.kind !== 'text' || lastText.mime !== part.mime) return [...parts, part]
    return parts.with(textIndex, { ...lastText, content: lastText.content + part.content })
  }
  const callIndex =
    part.kind === 'tool_call'
      ? parts.findIndex(earlierPart => earlierPart.kind === 'tool_call' && earlierPart.id === part.id)
      : -1
  return callIndex < 0 ? [...parts, part] : parts.with(callIndex, part)
}
