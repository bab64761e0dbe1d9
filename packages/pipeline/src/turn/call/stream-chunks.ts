// Passes the pieces of a streamed answer on to readers and to the peer.

import type { PartialResponse } from '@postern/message'
import { findChannel } from '../../ports/channel/channel.ts'
import type { Turn } from '../../ports/records/work/turn.ts'
import { withoutPolicies } from '../../requirements/requirements.ts'
import { isInterim } from '../answer/collect-answer.ts'
import { BlankBeginning } from '../answer/empty-answer.ts'
import { keepPiece, sayMeanwhile } from '../notes/streamed-answer.ts'
import type { CallDeps } from './call-deps.ts'

/** The least time between two revisions, ms: a streaming agent must not flood the peers. */
const shortestInterim = 3_000

export interface ChunkReader {
  (chunk: PartialResponse): Promise<void> | undefined
  /** Tells whether the answer came in pieces. */
  hasRead(): boolean
}

/** Every piece goes to those who watch; what the agent says meanwhile also to the peer, where the wire can take it back. */
export function createChunkReader(
  turn: Turn,
  { turnContext, draft, notes, trace }: CallDeps,
  signal: AbortSignal,
): ChunkReader {
  const { store, system, channels } = turnContext
  const canRevise = findChannel(channels, turn.via)?.actions?.address !== undefined
  let saidAt = Number.NEGATIVE_INFINITY
  let index = 0
  const beginning = new BlankBeginning()
  const read = (given: PartialResponse): Promise<void> | undefined => {
    const { stage, withheld, ...chunk } = beginning.pass(withoutPolicies(given))
    // A throw here ends the agent's iterator: after its time nobody reads the pieces.
    signal.throwIfAborted()
    if (stage !== undefined) enterStage(stage, { notes, draft, trace })
    trace.withheld(withheld)
    keepPiece(draft, chunk)
    trace.heard(chunk)
    // By the count a watcher knows whether it has seen a run from its beginning.
    const notice = { kind: 'part', chunk, run: turn.token, index, response: draft.id }
    for (const message of [...(turn.merged ?? []), turn.message]) store.notify(`message:${message}`, notice)
    index += 1
    if (!canRevise || !isInterim(chunk) || system.now() < saidAt + shortestInterim) return undefined
    saidAt = system.now()
    return sayMeanwhile(turn, turnContext, chunk, draft)
  }
  return Object.assign(read, { hasRead: () => index > 0 })
}

export function enterStage(name: string, { notes, draft, trace }: Pick<CallDeps, 'notes' | 'draft' | 'trace'>): void {
  notes.stage(name, draft.id)
  trace.steps.enter(name)
}
