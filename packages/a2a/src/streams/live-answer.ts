import type { Part, PartialResponse } from '@postern/core'

/** A piece of an answer in progress, as core's `call-agent.ts` announces it. */
export interface ChunkNotice {
  readonly kind: 'part'
  readonly chunk: PartialResponse
  /** The try of the turn that it belongs to. */
  readonly run: number
  /** From 0, without gaps. */
  readonly index: number
  /** The id of the coming answer. */
  readonly response: string
}

/** What a piece means for listeners. */
type ChunkMeaning =
  /** A message of progress; the answer replaces it. */
  | { readonly kind: 'interim'; readonly parts: readonly Part[]; readonly id: string }
  /** The agent works and has sent no text yet. */
  | { readonly kind: 'working' }
  /** One more piece of the artifact. */
  | { readonly kind: 'piece'; readonly parts: readonly Part[] }

/** An answer in progress. */
export interface LiveAnswer {
  readonly message: number
  readonly run: number
  readonly response: string
  /** Pieces received so far. */
  count: number
  /** The parts sent as an artifact so far. */
  readonly told: Part[]
  /** The newest piece waits a moment, in case it is the last. */
  held: readonly Part[] | undefined
  /** The agent announced a question, a refusal or a failure, so there is no artifact. */
  isMessage: boolean
  /** A piece was missed, so the artifact has to be sent whole at the end. */
  hasGap: boolean
}

/** The answer that a first piece begins. A later listener has missed pieces and waits for the end. */
export function beginLiveAnswer(message: number, { run, index, response }: ChunkNotice): LiveAnswer | undefined {
  if (index !== 0) return undefined
  return { message, run, response, count: 0, told: [], held: undefined, isMessage: false, hasGap: false }
}

/** Adds a piece and returns its meaning; undefined after a missing piece, because the rest cannot be sent. */
export function takeChunk(live: LiveAnswer, { chunk, run, index, response }: ChunkNotice): ChunkMeaning | undefined {
  if (run === live.run && index > live.count) live.hasGap = true
  if (run !== live.run || index !== live.count) return undefined
  live.count += 1
  const { status, parts = [] } = chunk
  if (status === 'working' && parts.length > 0) return { kind: 'interim', parts, id: `${response}-${index}` }
  live.isMessage = isNoResult(status, live.isMessage)
  if (parts.length === 0 || live.isMessage) return { kind: 'working' }
  return { kind: 'piece', parts }
}

function isNoResult(status: PartialResponse['status'], before: boolean): boolean {
  return status === undefined ? before : status !== 'completed' && status !== 'working'
}

/** Joins pieces of one text kind. */
export function joinPieces(parts: readonly Part[]): readonly Part[] {
  const joined: Part[] = []
  for (const part of parts) {
    const last = joined.at(-1)
    if (part.kind === 'text' && last?.kind === 'text' && last.mime === part.mime) {
      joined[joined.length - 1] = { ...last, content: last.content + part.content }
    } else joined.push(part)
  }
  return joined
}
