// Forwards the pieces of a streamed answer to readers and to the peer.

import type { PartialResponse } from '@postern/message'
import { findChannel } from '../../ports/channel/channel.ts'
import type { Turn } from '../../ports/records/work/turn.ts'
import { withoutPolicies } from '../../requirements/requirements.ts'
import { isInterim } from '../answer/collect-answer.ts'
import { BlankBeginning } from '../answer/empty-answer.ts'
import { addPiece, storeInterimAnswer } from '../notes/streamed-answer.ts'
import type { CallDeps } from './call-deps.ts'

/** The shortest time between two revisions, ms, so that a streaming agent does not flood the peers. */
const minInterimMs = 3_000

export interface ChunkReader {
  (chunk: PartialResponse): Promise<void> | undefined
  /** Returns true if at least one piece of the answer has arrived. */
  hasRead(): boolean
}

/** Creates the reader of pieces. Every piece goes to readers; interim text also goes to the peer if the channel can revise it later. */
export function createChunkReader(
  turn: Turn,
  { turnContext, draft, notes, trace }: CallDeps,
  signal: AbortSignal,
): ChunkReader {
  const { store, system, channels } = turnContext
  const canRevise = findChannel(channels, turn.via)?.actions?.address !== undefined
  let interimAt = Number.NEGATIVE_INFINITY
  let index = 0
  const blankBeginning = new BlankBeginning()
  const readChunk = (receivedChunk: PartialResponse): Promise<void> | undefined => {
    const { stage, withheld, ...chunk } = blankBeginning.pass(withoutPolicies(receivedChunk))
    // An error here ends the agent's iterator, because nobody reads pieces after the deadline.
    signal.throwIfAborted()
    if (stage !== undefined) enterStage(stage, { notes, draft, trace })
    trace.recordWithheld(withheld)
    addPiece(draft, chunk)
    trace.recordPiece(chunk)
    // `index` lets a reader know whether it has seen the run from the beginning.
    const notice = { kind: 'part', chunk, run: turn.token, index, response: draft.id }
    for (const message of [...(turn.merged ?? []), turn.message]) store.notify(`message:${message}`, notice)
    index += 1
    if (!canRevise || !isInterim(chunk) || system.now() < interimAt + minInterimMs) return undefined
    interimAt = system.now()
    return storeInterimAnswer(turn, turnContext, chunk, draft)
  }
  return Object.assign(readChunk, { hasRead: () => index > 0 })
}

export function enterStage(name: string, { notes, draft, trace }: Pick<CallDeps, 'notes' | 'draft' | 'trace'>): void {
  notes.stage(name, draft.id)
  trace.steps.enter(name)
}
