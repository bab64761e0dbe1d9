import type { World } from '@postern/core'
import { TurnAborted } from '@postern/core'
import type { AnswerState, FinishedAnswer } from './answer-state.ts'
import { createAnswerState } from './answer-state.ts'
import type { Line } from './exchange.ts'
import { exchangeStream, exchangeUnary } from './exchange.ts'
import { refuseAgent } from './trust.ts'

export interface TaskLine extends Line {
  readonly world: Line['world'] & Pick<World, 'sleep' | 'log'>
}

/** Longest time for taking a task back, ms. */
const cancelMs = 5_000
const pauses = { firstMs: 250, longestMs: 5_000 } as const

/**
 * Sends a message and follows its task to an end, or to a question. `taskId`: of the task that the message goes on with.
 * @throws Unavailable, Undeliverable; the reason of the line's signal
 */
export async function followTask(message: object, line: TaskLine, taskId: string | undefined): Promise<FinishedAnswer> {
  const state = createAnswerState({ taskId })
  try {
    await hearAnswer(message, line, state)
    await pollTask(line, state)
    const finished = state.finished()
    if (!finished) throw refuseAgent('it did not come to an end')
    return finished
  } catch (error) {
    const { aborted, reason } = line.signal
    if (!aborted) throw error
    if (isGivenUp(reason)) void cancelTask(line, state.taskId())
    throw reason
  }
}

async function hearAnswer(message: object, line: TaskLine, state: AnswerState): Promise<void> {
  if (!line.to.canStream || !line.world.openStream) {
    return state.take(await exchangeUnary('SendMessage', { message }, line))
  }
  for await (const event of exchangeStream('SendStreamingMessage', { message }, line)) {
    state.take(event)
    if (state.finished()) return
  }
}

/** A task that outlives its call or its stream is asked for, less and less often, until the time is up. */
async function pollTask(line: TaskLine, state: AnswerState): Promise<void> {
  const id = state.taskId()
  let pause: number = pauses.firstMs
  while (!state.finished() && id !== undefined) {
    await line.world.sleep(pause, line.signal)
    line.signal.throwIfAborted()
    state.take({ task: await exchangeUnary('GetTask', { id, historyLength: 0 }, line) })
    pause = Math.min(pause * 2, pauses.longestMs)
  }
}

/** The turn was canceled or has run out of time. After a shutdown the call is made again, and finds its task as it left it. */
function isGivenUp(reason: unknown): boolean {
  if (reason instanceof TurnAborted) return reason.kind === 'canceled'
  return reason instanceof Error && reason.name === 'TimeoutError'
}

/** Best effort: nobody waits for the answer any more. */
async function cancelTask(line: TaskLine, id: string | undefined): Promise<void> {
  if (id === undefined) return
  const { signal } = new AbortController()
  await exchangeUnary('CancelTask', { id }, { ...line, signal, timeoutMs: cancelMs }).catch(err =>
    line.world.log.debug({ err }, 'a task elsewhere could not be canceled'),
  )
}
