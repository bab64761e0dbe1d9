import type { Part, PartialResponse } from '@postern/core'

/** A piece of an answer on its way, as the line announces it (core's `call-agent.ts`). */
export interface ChunkNotice {
  readonly kind: 'part'
  readonly chunk: PartialResponse
  /** Which try of the turn it comes from. */
  readonly run: number
  /** From 0, without gaps. */
  readonly index: number
  /** The id that the answer will have. */
  readonly response: string
}

/** What a piece means to those who watch. */
type ChunkMeaning =
  /** Said meanwhile; the answer takes its place. */
  | { readonly kind: 'interim'; readonly parts: readonly Part[]; readonly id: string }
  /** The agent is at work; nothing is said yet. */
  | { readonly kind: 'working' }
  /** One more piece of the artifact. */
  | { readonly kind: 'piece'; readonly parts: readonly Part[] }

/** An answer that is being given, as far as it was heard. */
export interface LiveAnswer {
  readonly message: number
  readonly run: number
  readonly response: string
  /** Pieces heard so far. */
  count: number
  /** What has gone out of the artifact. */
  readonly told: Part[]
  /** The newest piece waits a moment, in case it is the last. */
  held: readonly Part[] | undefined
  /** The agent has said that this will be a question, a refusal or a failure: no artifact. */
  isMessage: boolean
}

/** The answer that a first piece begins. Who comes to it later has not heard all of it, and waits for the end. */
export function beginLiveAnswer(message: number, { run, index, response }: ChunkNotice): LiveAnswer | undefined {
  if (index !== 0) return undefined
  return { message, run, response, count: 0, told: [], held: undefined, isMessage: false }
}

/** Takes a piece in and says what it means; undefined when a piece is missing before it, so that the rest cannot be told. */
export function takeChunk(live: LiveAnswer, { chunk, run, index, response }: ChunkNotice): ChunkMeaning | undefined {
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

/** What was told in many pieces as one: text of one kind runs on. */
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
