// Writes the pieces and the end of a turn as events of a run.
import type { Interrupt } from '@ag-ui/core'
import type { NormalizedResponse } from '@postern/message'
import { agentPausedText } from '@postern/pipeline'
import type { RunWriter } from '../events/run-events.ts'
import type { EventSink } from '../events/sse.ts'
import { describeRefusal, readChatText } from '../render.ts'
import { listInterrupts } from '../requirements/interrupts.ts'
import type { TurnEnding, TurnWatcher } from './follow-turn.ts'
import type { StartedRun } from './started-run.ts'

/** Finishes a run. An open requirement of an earlier run prevents this run from succeeding. */
export function finishRun(writer: RunWriter, interrupts: readonly Interrupt[]): void {
  writer.finish(interrupts.length > 0 ? { kind: 'interrupt', interrupts } : { kind: 'success' })
}

export function failToFollow(writer: RunWriter): void {
  writer.fail('The run cannot be followed any more. Its answer will be in the history.', 'unavailable')
}

export type PresentAnswer = (response: NormalizedResponse) => NormalizedResponse

interface WatcherDeps {
  readonly sink: Pick<EventSink, 'sendHeartbeat' | 'isFull'>
  readonly presentAnswer: PresentAnswer
  readonly readInterrupts: StartedRun['readInterrupts']
  readonly readMessages: StartedRun['readMessages']
  readonly isReported: StartedRun['isReported']
  onDone(): void
}

export function createWatcher(
  writer: RunWriter,
  { sink, presentAnswer, onDone, ...reportDeps }: WatcherDeps,
): TurnWatcher {
  let isSlow = false
  // A slow client gets no pieces, because the complete answer contains them all.
  const unlessSlow =
    <Arguments extends readonly unknown[]>(report: (...values: Arguments) => void) =>
    (...values: Arguments): void => {
      isSlow ||= sink.isFull()
      if (!isSlow) report(...values)
    }
  return {
    writePiece: unlessSlow(writer.writePiece),
    writeDetails: unlessSlow(writer.writeDetails),
    writeInterim: unlessSlow(writer.writeInterim),
    writeNote: unlessSlow(writer.writeNote),
    sendHeartbeat: sink.sendHeartbeat,
    end(ending) {
      const presentedEnding = { ...ending, response: ending.response && presentAnswer(ending.response) }
      void reportEnding(presentedEnding, writer, reportDeps)
        .catch(() => failToFollow(writer))
        .then(onDone)
    },
    fail(reason) {
      if (reason === 'paused') writer.fail(agentPausedText, 'agent_paused')
      else failToFollow(writer)
      onDone()
    },
  }
}

async function reportEnding(
  { response, isCanceled }: TurnEnding,
  writer: RunWriter,
  { readInterrupts, readMessages, isReported }: Pick<StartedRun, 'readInterrupts' | 'readMessages' | 'isReported'>,
): Promise<void> {
  if (isCanceled) return writer.finish({ kind: 'cancelled' })
  // A client cannot take back text that it has received, so it gets all current messages.
  if (response && !isReported && !writer.complete(response)) writer.writeSnapshot(await readMessages())
  if (response?.status === 'failed')
    return writer.fail(readChatText(response.parts) || 'The agent failed', 'agent_failed', { response })
  if (response?.status === 'rejected') {
    const { message, code, details } = describeRefusal(response)
    return writer.fail(message, code, { response, details })
  }
  const isWaiting = response?.status === 'input_required' || response?.status === 'auth_required'
  const interrupts = isWaiting ? listInterrupts(response) : []
  const shownIds = new Set(interrupts.map(({ id }) => id))
  finishRun(writer, [...interrupts, ...(await readInterrupts()).filter(({ id }) => !shownIds.has(id))])
}
