// Assembles the answer of another agent from its messages, tasks and updates.
import type { Part, ResponseStatus } from '@postern/message'
import { isJsonObject } from '@postern/message'
import type { z } from 'zod'
import type { WireArtifact, WireMessage } from '../format/wire.ts'
import { arrayOf, findWrongMembers, object, oneOf, optional, shapeOf } from '../validate/checks.ts'
import { wirePartSchema } from '../validate/params.ts'
import { anyText, identifier, line } from '../validate/texts.ts'
import { refuseAnswer, UnreadableAnswer } from './exchange/fetch-document.ts'
import type { ReceivedArtifacts } from './received-artifacts.ts'
import { createReceivedArtifacts, joinArtifactParts, listArtifactTexts } from './received-artifacts.ts'

/** The response status for each task state that ends the wait for an answer. States of work in progress are absent. */
const responseStatuses: Readonly<Record<string, ResponseStatus>> = {
  TASK_STATE_COMPLETED: 'completed',
  TASK_STATE_FAILED: 'failed',
  TASK_STATE_CANCELED: 'failed',
  TASK_STATE_REJECTED: 'rejected',
  TASK_STATE_INPUT_REQUIRED: 'input_required',
  TASK_STATE_AUTH_REQUIRED: 'auth_required',
}
const taskStates = [...Object.keys(responseStatuses), 'TASK_STATE_SUBMITTED', 'TASK_STATE_WORKING']

const limits = { parts: 1_000, artifacts: 200 } as const
const partsSchema = arrayOf(wirePartSchema, { max: limits.parts })
const message = shapeOf({
  messageId: identifier(256),
  role: oneOf(['ROLE_AGENT']),
  parts: partsSchema,
  taskId: optional(line(256)),
  contextId: optional(line(256)),
  metadata: optional(object),
})
const statusSchema = shapeOf({ state: oneOf(taskStates), messageSchema: optional(message) })
const artifactSchema = shapeOf({ artifactId: identifier(256), name: optional(anyText), parts: partsSchema })
const taskIdSchemas = { id: identifier(256), contextId: optional(line(256)) }
const eventIdSchemas = { taskId: identifier(256), contextId: optional(line(256)) }
const schemas: Readonly<Record<EventName, z.ZodType>> = {
  message,
  task: shapeOf({
    ...taskIdSchemas,
    status: statusSchema,
    artifacts: optional(arrayOf(artifactSchema, { max: limits.artifacts })),
  }),
  statusUpdate: shapeOf({ ...eventIdSchemas, status: statusSchema }),
  artifactUpdate: shapeOf({ ...eventIdSchemas, artifact: artifactSchema }),
}

/** The state of an answer that is being received. */
export type AnswerState = ReturnType<typeof createAnswerState>

export interface ExpectedAnswer {
  /** The id of the task that the message continues. Undefined for a new task. */
  readonly taskId: string | undefined
  /** The task's status before the message. The same status is not an answer if it is received again. */
  readonly statusBefore?: StatusName | undefined
  /** The task's artifacts before the message. They are not part of the answer as long as they stay the same. */
  readonly artifactsBefore?: ReadonlyMap<string, string> | undefined
  /** Receives the parts of artifacts as they arrive. */
  onPiece?(parts: readonly Part[]): void
}

export interface FinishedAnswer {
  readonly parts: readonly Part[]
  /** The parts that `onPiece` has not received. */
  readonly remainingParts: readonly Part[]
  readonly status: ResponseStatus
  readonly contextId: string | undefined
  readonly taskId: string | undefined
}

interface AnswerProgress {
  readonly task: { readonly id: string; readonly context: string | undefined } | undefined
  readonly status: ResponseStatus | undefined
  readonly statusName: StatusName | undefined
  /** The parts of the latest message. */
  readonly messageParts: readonly Part[]
  readonly context: string | undefined
}

/** Creates the state of an answer to one call, which may be a message, a task, or a task and its updates. */
export function createAnswerState(expected: ExpectedAnswer) {
  const emptyProgress = { task: undefined, status: undefined, statusName: undefined, context: undefined }
  let progress: AnswerProgress = { ...emptyProgress, messageParts: [] }
  let artifactsSeen: ReadonlyMap<string, string> = new Map()
  const artifacts = createReceivedArtifacts(expected.onPiece, expected.artifactsBefore)
  let { statusBefore } = expected

  /** Returns the response status, or undefined if the task only repeats the status from before the message. */
  const findEndStatus = ({ status, statusName }: AnswerProgress) =>
    statusBefore && statusName && isSameStatus(statusName, statusBefore) ? undefined : status

  return {
    /** Reads one result or event of a stream. @throws Undeliverable if it is invalid, or names another task than earlier events */
    accept(event: unknown): void {
      const [name, value] = readEvent(event)
      const expectedTaskId = progress.task?.id ?? expected.taskId
      const subjectId = name === 'message' ? undefined : String(value.id ?? value.taskId)
      if (expectedTaskId !== undefined && subjectId !== undefined && subjectId !== expectedTaskId)
        throw refuseAnswer('it is about another task')
      progress = eventReaders[name](value, addNamedTask(value, name, progress), artifacts)
      if (name === 'task') artifactsSeen = listArtifactTexts(listArtifacts(value))
      if (progress.messageParts.length + artifacts.countParts() > limits.parts)
        throw refuseAnswer('it has too many parts')
    },
    /** Returns the id of the task, for later requests. */
    taskId: () => progress.task?.id,
    /** Returns the parts of the artifacts so far. */
    partsSoFar: () => artifacts.parts(),
    /** Returns the finished answer, or undefined while the agent works. */
    findFinished(): FinishedAnswer | undefined {
      const status = findEndStatus(progress)
      if (status === undefined) return undefined
      // The message beside the results of a completed task is not a result of its own (A2A §3.7).
      const statusParts = status === 'completed' && artifacts.parts().length > 0 ? [] : progress.messageParts
      return {
        parts: [...artifacts.parts(), ...statusParts],
        remainingParts: [...artifacts.remainingParts(), ...statusParts],
        status,
        contextId: progress.task?.context ?? progress.context,
        taskId: progress.task?.id,
      }
    },
    /** Returns the name of the latest status, or undefined before the first. */
    status: () => progress.statusName,
    /** Returns the artifacts of the last complete task, so that a later call can tell whether they have changed. */
    artifactsSeen: () => artifactsSeen,
    /** Accepts the status from before the message as the answer, because no other status came. */
    acceptRepeated(): void {
      statusBefore = undefined
    },
  }
}

/**
 * Records the task that an event names. A stream may begin with an update, because updates name their task. For continued tasks, a2a-python and
 * a2a-go do so. The template of a2a-go always does, although A2A §3.1.2 requires that a task comes first.
 */
function addNamedTask({ taskId, contextId }: EventValue, name: EventName, progress: AnswerProgress): AnswerProgress {
  if (progress.task !== undefined || (name !== 'statusUpdate' && name !== 'artifactUpdate')) return progress
  return { ...progress, task: { id: String(taskId), context: readText(contextId) } }
}

const eventNames = ['message', 'task', 'statusUpdate', 'artifactUpdate'] as const
type EventName = (typeof eventNames)[number]
type EventValue = Readonly<Record<string, unknown>>

/** Reads the one member that an event must have (A2A §3.2.3). @throws UnreadableAnswer if it is missing, invalid or not the only one */
function readEvent(event: unknown): readonly [EventName, EventValue] {
  const names = isJsonObject(event) ? eventNames.filter(name => isJsonObject(event[name])) : []
  const [name] = names
  if (!isJsonObject(event) || name === undefined || names.length > 1)
    throw new UnreadableAnswer('it is neither message nor task')
  const [violation] = findWrongMembers(schemas[name], event[name])
  if (violation) throw new UnreadableAnswer(`${name}.${violation.field} ${violation.description}`.slice(0, 200))
  return [name, event[name] as EventValue]
}

type EventReader = (value: EventValue, progress: AnswerProgress, artifacts: ReceivedArtifacts) => AnswerProgress

const eventReaders: Readonly<Record<EventName, EventReader>> = {
  message: (value, progress) => ({
    ...progress,
    status: 'completed',
    messageParts: joinArtifactParts((value as unknown as WireMessage).parts),
    context: readText(value.contextId),
  }),
  task(value, progress, artifacts) {
    artifacts.replaceAll(listArtifacts(value))
    return {
      ...readStatus(value.status as EventValue, progress),
      task: { id: String(value.id), context: readText(value.contextId) },
    }
  },
  statusUpdate: (value, progress) => readStatus(value.status as EventValue, progress),
  artifactUpdate(value, progress, artifacts) {
    const artifact = value.artifact as WireArtifact
    if (artifacts.size() >= limits.artifacts && !artifacts.has(artifact.artifactId)) {
      throw refuseAnswer('it has too many artifacts')
    }
    artifacts.update(artifact, { append: value.append === true, isLast: value.lastChunk === true })
    return progress
  },
}

function listArtifacts({ artifacts }: EventValue): readonly WireArtifact[] {
  return (artifacts ?? []) as readonly WireArtifact[]
}

function readStatus(status: EventValue, progress: AnswerProgress): AnswerProgress {
  const { state, message: statusMessage } = status
  const messageParts = isJsonObject(statusMessage)
    ? joinArtifactParts((statusMessage as unknown as WireMessage).parts)
    : []
  return { ...progress, status: responseStatuses[String(state)], statusName: statusNameOf(status), messageParts }
}

function readText(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** The name of a task's status, by which a repetition is recognized (A2A §4.1.2). */
export type StatusName = ReturnType<typeof statusNameOf>

function statusNameOf({ state, timestamp, message }: Readonly<Record<string, unknown>>) {
  return { state, timestamp, messageId: isJsonObject(message) ? message.messageId : undefined }
}

/**
 * Returns true if the status has not changed since the message. Servers repeat the old status before they continue. Some servers first move its question
 * into the history.
 */
function isSameStatus(latestStatus: StatusName, earlierStatus: StatusName): boolean {
  const isQuestionInHistory = latestStatus.messageId === undefined
  return (
    latestStatus.state === earlierStatus.state &&
    latestStatus.timestamp === earlierStatus.timestamp &&
    (isQuestionInHistory || latestStatus.messageId === earlierStatus.messageId)
  )
}
