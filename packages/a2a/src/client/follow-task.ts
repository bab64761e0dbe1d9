// Sends a message to another agent and follows its task to the end, by a stream or by polling.
import type { Part, System } from '@postern/message'
import { TurnAborted, Unavailable, Undeliverable } from '@postern/message'
import type { AnswerState, ExpectedAnswer, FinishedAnswer, StatusName } from './answer-state.ts'
import { createAnswerState } from './answer-state.ts'
import type { ExchangeDeps } from './exchange/exchange.ts'
import { CallerRefusal, exchangeStream, exchangeUnary } from './exchange/exchange.ts'
import { ErrorAnswer, refuseAgent, UnreadableAnswer } from './exchange/fetch-document.ts'

export interface FollowTaskDeps extends ExchangeDeps {
  readonly system: ExchangeDeps['system'] & Pick<System, 'sleep' | 'log'>
  /** The `SendMessageConfiguration`, for example with the address for later updates. */
  readonly configuration?: Readonly<Record<string, unknown>> | undefined
  /** Receives the function that joins the parts so far, once for each event, so that they are joined only for a listener that needs them. */
  onPartialAnswer?(joinParts: () => readonly Part[]): void
  /** Receives the parts of artifacts as they arrive. */
  onPiece?(parts: readonly Part[]): void
  /** True if no later call follows the task, so that it is canceled when the time is up. */
  readonly isOnlyCall?: boolean | undefined
}

/** The longest time for canceling a task, ms. */
const cancelMs = 5_000
const pollPauses = { firstMs: 250, longestMs: 5_000 } as const
/** The time, in ms, after which no agent works on a task that still has its old status. */
const unchangedTaskMs = 30_000

/**
 * Sends a message and follows its task to its end or to a question. `taskId` names the task to continue. If that task has ended or no longer
 * exists, a new one begins in its context.
 * @throws Unavailable, Undeliverable; the reason of the call's signal
 */
export async function followTask(
  message: object,
  deps: FollowTaskDeps,
  taskId: string | undefined,
): Promise<FinishedAnswer> {
  const { onPiece } = deps
  const pieceListener = onPiece && { onPiece }
  if (taskId === undefined) return sendAndFollow(message, deps, { taskId, ...pieceListener })
  const previousTask = await readPreviousTask(taskId, deps)
  const expectation: ExpectedAnswer = {
    taskId,
    statusBefore: previousTask.status,
    artifactsBefore: previousTask.artifacts,
    ...pieceListener,
  }
  return sendAndFollow(message, deps, expectation).catch(error => {
    if (!previousTask.hasEnded || !(error instanceof ErrorAnswer)) throw error
    const { taskId: _, ...newMessage } = message as { readonly taskId?: unknown }
    return sendAndFollow(newMessage, deps, { taskId: undefined, ...pieceListener })
  })
}

async function sendAndFollow(
  message: object,
  deps: FollowTaskDeps,
  expectation: ExpectedAnswer,
): Promise<FinishedAnswer> {
  const state = createAnswerState(expectation)
  try {
    await receiveAnswer(message, deps, state)
    await pollTask(deps, state)
    const finishedAnswer = state.findFinished()
    if (!finishedAnswer) throw refuseAgent('it did not come to an end')
    return finishedAnswer
  } catch (error) {
    const { aborted, reason } = deps.signal
    if (!aborted) throw error
    if (deps.isOnlyCall || isAbandoned(reason)) void cancelTask(deps, state.taskId())
    throw reason
  }
}

/** Reads the present state of a task. Returns undefined while the agent works. @throws Unavailable, Undeliverable */
export async function readTask(id: string, deps: ExchangeDeps): Promise<FinishedAnswer | undefined> {
  const state = createAnswerState({ taskId: id })
  state.accept({ task: await exchangeUnary('GetTask', { id, historyLength: 0 }, deps) })
  return state.findFinished()
}

interface PreviousTask {
  readonly status?: StatusName | undefined
  readonly artifacts?: ReadonlyMap<string, string> | undefined
  readonly hasEnded: boolean
}

/**
 * Reads the task that the message continues. The result is empty if the agent does not reveal the task.
 * @throws Unavailable, CallerRefusal; the reason of the call's signal
 */
async function readPreviousTask(taskId: string, deps: ExchangeDeps): Promise<PreviousTask> {
  const state = createAnswerState({ taskId })
  try {
    state.accept({ task: await exchangeUnary('GetTask', { id: taskId, historyLength: 0 }, deps) })
    if (hasEnded(state.findFinished())) return { hasEnded: true }
    return { hasEnded: false, status: state.status(), artifacts: state.artifactsSeen() }
  } catch (error) {
    if (!(error instanceof Undeliverable) || error instanceof CallerRefusal) throw error
    return { hasEnded: isTaskNotFound(error) }
  }
}

/** The codes of TaskNotFound over JSON-RPC and over HTTP (A2A §5.4). */
const taskNotFoundCodes: ReadonlySet<unknown> = new Set([-32001, 404])

/** Returns true if the agent has answered that it has no such task. */
export function isTaskNotFound(error: unknown): boolean {
  return error instanceof ErrorAnswer && taskNotFoundCodes.has(error.wireCode)
}

function hasEnded(finishedAnswer: FinishedAnswer | undefined): boolean {
  return (
    finishedAnswer !== undefined &&
    finishedAnswer.status !== 'input_required' &&
    finishedAnswer.status !== 'auth_required'
  )
}

async function receiveAnswer(message: object, deps: FollowTaskDeps, state: AnswerState): Promise<void> {
  const { configuration } = deps
  const params = { message, ...(configuration && { configuration }) }
  if (!deps.agentInterface.canStream || !deps.system.openStream) {
    return state.accept(await exchangeUnary('SendMessage', params, deps))
  }
  try {
    await receiveStream(exchangeStream('SendStreamingMessage', params, deps), deps, state)
  } catch (error) {
    // However the stream ended, GetTask returns the state of the task (A2A §3.1.3).
    const canPoll = error instanceof UnreadableAnswer || error instanceof Unavailable
    if (!canPoll || state.taskId() === undefined || deps.signal.aborted) throw error
    deps.system.log.debug({ err: error }, 'a stream of a task elsewhere could not be followed')
  }
}

/** Reads a stream to the end of the task. After an unreadable event, it only searches for the id of the task. @throws UnreadableAnswer */
async function receiveStream(events: AsyncIterable<unknown>, { onPartialAnswer }: FollowTaskDeps, state: AnswerState) {
  let readError: UnreadableAnswer | undefined
  for await (const event of events) {
    const error = acceptEvent(event, state)
    readError ??= error
    if (readError && state.taskId() !== undefined) break
    if (!readError && state.findFinished()) return
    if (!readError) onPartialAnswer?.(state.partsSoFar)
  }
  if (readError) throw readError
}

/** Reads one event of a stream. Returns the error if it cannot be read. */
function acceptEvent(event: unknown, state: AnswerState): UnreadableAnswer | undefined {
  try {
    state.accept(event)
    return undefined
  } catch (error) {
    if (error instanceof UnreadableAnswer) return error
    throw error
  }
}

/** Polls a task that runs longer than its call or stream, at growing intervals until the deadline. */
async function pollTask(deps: FollowTaskDeps, state: AnswerState): Promise<void> {
  const id = state.taskId()
  const startedAt = deps.system.now()
  let pauseMs: number = pollPauses.firstMs
  while (!state.findFinished() && id !== undefined) {
    await deps.system.sleep(pauseMs, deps.signal)
    deps.signal.throwIfAborted()
    const task = await exchangeUnary('GetTask', { id, historyLength: 0 }, deps).catch(error => {
      // The message has arrived, so the next poll is enough. If it were sent again, some servers would run it twice.
      if (!(error instanceof Unavailable) || !deps.isOnlyCall || deps.signal.aborted) throw error
    })
    if (task !== undefined) state.accept({ task })
    if (deps.system.now() - startedAt > unchangedTaskMs) state.acceptRepeated()
    pauseMs = Math.min(pauseMs * 2, pollPauses.longestMs)
  }
}

/** Returns true if the turn was canceled or has run out of time. After a shutdown, the call is repeated and finds its task unchanged. */
function isAbandoned(reason: unknown): boolean {
  if (reason instanceof TurnAborted) return reason.kind === 'canceled'
  return reason instanceof Error && reason.name === 'TimeoutError'
}

/** Tries to cancel the task and ignores a failure, because no caller waits for the answer any more. */
async function cancelTask(deps: FollowTaskDeps, id: string | undefined): Promise<void> {
  if (id === undefined) return
  const { signal } = new AbortController()
  await exchangeUnary('CancelTask', { id }, { ...deps, signal, timeoutMs: cancelMs }).catch(err =>
    deps.system.log.debug({ err }, 'a task elsewhere could not be canceled'),
  )
}
