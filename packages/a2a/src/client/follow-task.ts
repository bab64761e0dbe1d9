import type { Part, Platform } from '@postern/core'
import { TurnAborted, Undeliverable } from '@postern/core'
import type { AnswerState, ExpectedAnswer, FinishedAnswer, StatusName } from './answer-state.ts'
import { createAnswerState } from './answer-state.ts'
import type { ExchangeDeps } from './exchange/exchange.ts'
import { CallerRefused, exchangeStream, exchangeUnary } from './exchange/exchange.ts'
import { ErrorAnswer, refuseAgent } from './exchange/fetch-document.ts'

export interface FollowTaskDeps extends ExchangeDeps {
  readonly platform: ExchangeDeps['platform'] & Pick<Platform, 'sleep' | 'log'>
  /** `SendMessageConfiguration`, for example where to push later updates. */
  readonly configuration?: Readonly<Record<string, unknown>> | undefined
  /** Called with each piece. The parts so far are joined only for a listener. */
  onWords?(soFar: () => readonly Part[]): void
}

/** Longest time for canceling a task, ms. */
const cancelMs = 5_000
const pauses = { firstMs: 250, longestMs: 5_000 } as const
/** If the task has its old status so long after the call, no agent works on it. */
const unmovedMs = 30_000

/**
 * Sends a message and follows its task to its end or to a question. `taskId` names the task to continue. If that task has ended or is gone,
 * a new one begins in its context. @throws Unavailable, Undeliverable; the reason of the call's signal
 */
export async function followTask(
  message: object,
  line: FollowTaskDeps,
  taskId: string | undefined,
): Promise<FinishedAnswer> {
  if (taskId === undefined) return followOne(message, line, { taskId })
  const before = await readStatusBefore(taskId, line)
  return followOne(message, line, { taskId, before: before === 'over' ? undefined : before }).catch(error => {
    if (before !== 'over' || !(error instanceof ErrorAnswer)) throw error
    const { taskId: _, ...fresh } = message as { readonly taskId?: unknown }
    return followOne(fresh, line, { taskId: undefined })
  })
}

async function followOne(message: object, line: FollowTaskDeps, expected: ExpectedAnswer): Promise<FinishedAnswer> {
  const state = createAnswerState(expected)
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

/** The present state of a task; undefined while the agent works. @throws Unavailable, Undeliverable */
export async function readTask(id: string, line: ExchangeDeps): Promise<FinishedAnswer | undefined> {
  const state = createAnswerState({ taskId: id })
  state.take({ task: await exchangeUnary('GetTask', { id, historyLength: 0 }, line) })
  return state.finished()
}

/**
 * The task's state before the message; undefined if the agent does not reveal it. @throws Unavailable, CallerRefused; the reason of the
 * call's signal
 */
async function readStatusBefore(taskId: string, line: ExchangeDeps): Promise<StatusName | 'over' | undefined> {
  const state = createAnswerState({ taskId })
  try {
    state.take({ task: await exchangeUnary('GetTask', { id: taskId, historyLength: 0 }, line) })
    return isOver(state.finished()) ? 'over' : state.status()
  } catch (error) {
    if (!(error instanceof Undeliverable) || error instanceof CallerRefused) throw error
    return isTaskNotFound(error) ? 'over' : undefined
  }
}

/** TaskNotFound over JSON-RPC and over HTTP (A2A §5.4). */
const notFound: ReadonlySet<unknown> = new Set([-32001, 404])

/** Whether the agent was asked, and says that it has no such task. */
export function isTaskNotFound(error: unknown): boolean {
  return error instanceof ErrorAnswer && notFound.has(error.code)
}

function isOver(finished: FinishedAnswer | undefined): boolean {
  return finished !== undefined && finished.status !== 'input_required' && finished.status !== 'auth_required'
}

async function hearAnswer(message: object, line: FollowTaskDeps, state: AnswerState): Promise<void> {
  const { configuration } = line
  const params = { message, ...(configuration && { configuration }) }
  if (!line.to.canStream || !line.platform.openStream) {
    return state.take(await exchangeUnary('SendMessage', params, line))
  }
  for await (const event of exchangeStream('SendStreamingMessage', params, line)) {
    state.take(event)
    if (state.finished()) return
    line.onWords?.(state.soFar)
  }
}

/** If a task outlives its call or stream, polls it at growing intervals until the deadline. */
async function pollTask(line: FollowTaskDeps, state: AnswerState): Promise<void> {
  const id = state.taskId()
  const since = line.platform.now()
  let pause: number = pauses.firstMs
  while (!state.finished() && id !== undefined) {
    await line.platform.sleep(pause, line.signal)
    line.signal.throwIfAborted()
    state.take({ task: await exchangeUnary('GetTask', { id, historyLength: 0 }, line) })
    if (line.platform.now() - since > unmovedMs) state.acceptRepeated()
    pause = Math.min(pause * 2, pauses.longestMs)
  }
}

/** The turn was canceled or has run out of time. After a shutdown the call is repeated and finds its task unchanged. */
function isGivenUp(reason: unknown): boolean {
  if (reason instanceof TurnAborted) return reason.kind === 'canceled'
  return reason instanceof Error && reason.name === 'TimeoutError'
}

/** Best effort, because no caller waits for the answer any more. */
async function cancelTask(line: FollowTaskDeps, id: string | undefined): Promise<void> {
  if (id === undefined) return
  const { signal } = new AbortController()
  await exchangeUnary('CancelTask', { id }, { ...line, signal, timeoutMs: cancelMs }).catch(err =>
    line.platform.log.debug({ err }, 'a task elsewhere could not be canceled'),
  )
}
