// Follows the task that a call begins to its end, by a stream or by polling.
import type { Part, System } from '@postern/message'
import { TurnAborted, Unavailable, Undeliverable } from '@postern/message'
import type { AnswerState, ExpectedAnswer, FinishedAnswer, StatusName } from './answer-state.ts'
import { createAnswerState } from './answer-state.ts'
import type { ExchangeDeps } from './exchange/exchange.ts'
import { CallerRefused, exchangeStream, exchangeUnary } from './exchange/exchange.ts'
import { ErrorAnswer, refuseAgent, UnreadableAnswer } from './exchange/fetch-document.ts'

export interface FollowTaskDeps extends ExchangeDeps {
  readonly system: ExchangeDeps['system'] & Pick<System, 'sleep' | 'log'>
  /** The `SendMessageConfiguration`, for example with the address for later updates. */
  readonly configuration?: Readonly<Record<string, unknown>> | undefined
  /** Receives the function that joins the parts so far, once for each event, so that they are joined only for a listener that needs them. */
  onWords?(soFar: () => readonly Part[]): void
  /** Receives the parts of artifacts as they arrive. */
  onPiece?(parts: readonly Part[]): void
  /** True if no later call follows the task, so that it is canceled when the time is up. */
  readonly isOnlyCall?: boolean | undefined
}

/** The longest time for canceling a task, ms. */
const cancelMs = 5_000
const pauses = { firstMs: 250, longestMs: 5_000 } as const
/** The time, in ms, after which no agent works on a task that still has its old status. */
const unmovedMs = 30_000

/**
 * Sends a message and follows its task to its end or to a question. `taskId` names the task to continue. If that task has ended or no longer
 * exists, a new one begins in its context.
 * @throws Unavailable, Undeliverable; the reason of the call's signal
 */
export async function followTask(
  message: object,
  line: FollowTaskDeps,
  taskId: string | undefined,
): Promise<FinishedAnswer> {
  const { onPiece } = line
  const told = onPiece && { onPiece }
  if (taskId === undefined) return followOne(message, line, { taskId, ...told })
  const before = await readTaskBefore(taskId, line)
  const expected = { taskId, before: before.status, artifactsBefore: before.artifacts, ...told }
  return followOne(message, line, expected).catch(error => {
    if (!before.isOver || !(error instanceof ErrorAnswer)) throw error
    const { taskId: _, ...fresh } = message as { readonly taskId?: unknown }
    return followOne(fresh, line, { taskId: undefined, ...told })
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
    if (line.isOnlyCall || isGivenUp(reason)) void cancelTask(line, state.taskId())
    throw reason
  }
}

/** Reads the present state of a task. Returns undefined while the agent works. @throws Unavailable, Undeliverable */
export async function readTask(id: string, line: ExchangeDeps): Promise<FinishedAnswer | undefined> {
  const state = createAnswerState({ taskId: id })
  state.take({ task: await exchangeUnary('GetTask', { id, historyLength: 0 }, line) })
  return state.finished()
}

interface TaskBefore {
  readonly status?: StatusName | undefined
  readonly artifacts?: ReadonlyMap<string, string> | undefined
  readonly isOver: boolean
}

/**
 * Reads the task before the message. The result is empty if the agent does not reveal the task.
 * @throws Unavailable, CallerRefused; the reason of the call's signal
 */
async function readTaskBefore(taskId: string, line: ExchangeDeps): Promise<TaskBefore> {
  const state = createAnswerState({ taskId })
  try {
    state.take({ task: await exchangeUnary('GetTask', { id: taskId, historyLength: 0 }, line) })
    if (isOver(state.finished())) return { isOver: true }
    return { isOver: false, status: state.status(), artifacts: state.artifactsSeen() }
  } catch (error) {
    if (!(error instanceof Undeliverable) || error instanceof CallerRefused) throw error
    return { isOver: isTaskNotFound(error) }
  }
}

/** The codes of TaskNotFound over JSON-RPC and over HTTP (A2A §5.4). */
const notFound: ReadonlySet<unknown> = new Set([-32001, 404])

/** Returns true if the agent has answered that it has no such task. */
export function isTaskNotFound(error: unknown): boolean {
  return error instanceof ErrorAnswer && notFound.has(error.reason)
}

function isOver(finished: FinishedAnswer | undefined): boolean {
  return finished !== undefined && finished.status !== 'input_required' && finished.status !== 'auth_required'
}

async function hearAnswer(message: object, line: FollowTaskDeps, state: AnswerState): Promise<void> {
  const { configuration } = line
  const params = { message, ...(configuration && { configuration }) }
  if (!line.to.canStream || !line.system.openStream) {
    return state.take(await exchangeUnary('SendMessage', params, line))
  }
  try {
    await hearStream(exchangeStream('SendStreamingMessage', params, line), line, state)
  } catch (error) {
    // GetTask returns the state of the task, regardless of how the stream ended (A2A §3.1.3).
    const mayGoOn = error instanceof UnreadableAnswer || error instanceof Unavailable
    if (!mayGoOn || state.taskId() === undefined || line.signal.aborted) throw error
    line.system.log.debug({ err: error }, 'a stream of a task elsewhere could not be followed')
  }
}

/** Reads a stream to the end of the task. After an event that cannot be read, it only looks for the id of the task. @throws UnreadableAnswer */
async function hearStream(events: AsyncIterable<unknown>, { onWords }: FollowTaskDeps, state: AnswerState) {
  let unread: UnreadableAnswer | undefined
  for await (const event of events) {
    const error = takeEvent(event, state)
    unread ??= error
    if (unread && state.taskId() !== undefined) break
    if (!unread && state.finished()) return
    if (!unread) onWords?.(state.soFar)
  }
  if (unread) throw unread
}

/** Reads one event of a stream. Returns the error if it cannot be read. */
function takeEvent(event: unknown, state: AnswerState): UnreadableAnswer | undefined {
  try {
    state.take(event)
    return undefined
  } catch (error) {
    if (error instanceof UnreadableAnswer) return error
    throw error
  }
}

/** Polls a task that runs longer than its call or stream, at growing intervals until the deadline. */
async function pollTask(line: FollowTaskDeps, state: AnswerState): Promise<void> {
  const id = state.taskId()
  const since = line.system.now()
  let pause: number = pauses.firstMs
  while (!state.finished() && id !== undefined) {
    await line.system.sleep(pause, line.signal)
    line.signal.throwIfAborted()
    const task = await exchangeUnary('GetTask', { id, historyLength: 0 }, line).catch(error => {
      // The message has arrived, so the next poll is enough. If it were sent again, some servers would run it twice.
      if (!(error instanceof Unavailable) || !line.isOnlyCall || line.signal.aborted) throw error
    })
    if (task !== undefined) state.take({ task })
    if (line.system.now() - since > unmovedMs) state.acceptRepeated()
    pause = Math.min(pause * 2, pauses.longestMs)
  }
}

/** Returns true if the turn was canceled or has run out of time. After a shutdown, the call is repeated and finds its task unchanged. */
function isGivenUp(reason: unknown): boolean {
  if (reason instanceof TurnAborted) return reason.kind === 'canceled'
  return reason instanceof Error && reason.name === 'TimeoutError'
}

/** Tries to cancel the task and ignores a failure, because no caller waits for the answer any more. */
async function cancelTask(line: FollowTaskDeps, id: string | undefined): Promise<void> {
  if (id === undefined) return
  const { signal } = new AbortController()
  await exchangeUnary('CancelTask', { id }, { ...line, signal, timeoutMs: cancelMs }).catch(err =>
    line.system.log.debug({ err }, 'a task elsewhere could not be canceled'),
  )
}
