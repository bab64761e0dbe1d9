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

export type Present = (response: NormalizedResponse) => NormalizedResponse

interface WatcherDeps {
  readonly sink: Pick<EventSink, 'beat' | 'isFull'>
  readonly present: Present
  readonly listOpen: StartedRun['listOpen']
  readonly readMessages: StartedRun['readMessages']
  readonly isReported: StartedRun['isReported']
  onDone(): void
}

export function createWatcher(writer: RunWriter, { sink, present, onDone, ...reportDeps }: WatcherDeps): TurnWatcher {
  let isSlow = false
  // The complete answer contains the omitted pieces, in their order.
  const unlessSlow =
    <Arguments extends readonly unknown[]>(report: (...values: Arguments) => void) =>
    (...values: Arguments): void => {
      isSlow ||= sink.isFull()
      if (!isSlow) report(...values)
    }
  return {
    piece: unlessSlow(writer.piece),
    details: unlessSlow(writer.details),
    interim: unlessSlow(writer.interim),
    note: unlessSlow(writer.note),
    beat: sink.beat,
    end(ending) {
      const presentedEnding = { ...ending, response: ending.response && present(ending.response) }
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
  { listOpen, readMessages, isReported }: Pick<StartedRun, 'listOpen' | 'readMessages' | 'isReported'>,
): Promise<void> {
  if (isCanceled) return writer.finish({ kind: 'cancelled' })
  // A client cannot take back text that it has received, so it gets all current messages.
  if (response && !isReported && !writer.complete(response)) writer.snapshot(await readMessages())
  if (response?.status === 'failed')
    return writer.fail(readChatText(response.parts) || 'The agent failed', 'agent_failed', { response })
  if (response?.status === 'rejected') {
    const { message, code, details } = describeRefusal(response)
    return writer.fail(message, code, { response, details })
  }
  const isWaiting = response?.status === 'input_required' || response?.status === 'auth_required'
  const interrupts = isWaiting ? listInterrupts(response) : []
  const shownIds = new Set(interrupts.map(({ id }) => id))
  finishRun(writer, [...interrupts, ...(await listOpen()).filter(({ id }) => !shownIds.has(id))])
}
