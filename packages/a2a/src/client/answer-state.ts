import type { Part, ResponseStatus } from '@postern/core'
import { isJsonObject } from '@postern/core'
import type { WireArtifact, WireMessage, WirePart } from '../format/wire.ts'
import { readParts } from '../normalize.ts'
import { readToolEvent } from '../parts/parts.ts'
import type { ValueCheck } from '../validate/params.ts'
import { arrayOf, identifier, line, object, oneOf, optional, part, required, shapeOf } from '../validate/params.ts'
import { refuseAnswer } from './exchange/fetch-document.ts'

/** Our state for a state of theirs. States without an end are absent. */
const endings: Readonly<Record<string, ResponseStatus>> = {
  TASK_STATE_COMPLETED: 'completed',
  TASK_STATE_FAILED: 'failed',
  TASK_STATE_CANCELED: 'failed',
  TASK_STATE_REJECTED: 'rejected',
  TASK_STATE_INPUT_REQUIRED: 'input_required',
  TASK_STATE_AUTH_REQUIRED: 'auth_required',
}
const states = [...Object.keys(endings), 'TASK_STATE_SUBMITTED', 'TASK_STATE_WORKING']

const most = { parts: 1_000, artifacts: 200 } as const
const parts = arrayOf(part, { max: most.parts })
const message = shapeOf({
  messageId: required(identifier(256)),
  role: required(oneOf(['ROLE_AGENT'])),
  parts: required(parts),
  taskId: optional(line(256)),
  contextId: optional(line(256)),
  metadata: optional(object),
})
const status = shapeOf({ state: required(oneOf(states)), message: optional(message) })
const artifact = shapeOf({ artifactId: required(identifier(256)), parts: required(parts) })
const ids = { id: required(identifier(256)), contextId: optional(line(256)) }
const eventIds = { taskId: required(identifier(256)), contextId: optional(line(256)) }
const checks: Readonly<Record<string, ValueCheck>> = {
  message,
  task: shapeOf({ ...ids, status: required(status), artifacts: optional(arrayOf(artifact, { max: most.artifacts })) }),
  statusUpdate: shapeOf({ ...eventIds, status: required(status) }),
  artifactUpdate: shapeOf({ ...eventIds, artifact: required(artifact) }),
}

/** The answer so far. */
export type AnswerState = ReturnType<typeof createAnswerState>

export interface ExpectedAnswer {
  /** The task that the message continues. */
  readonly taskId: string | undefined
  /** The task's status before the message. If it comes again, it is no answer. */
  readonly before?: StatusName | undefined
}

export interface FinishedAnswer {
  readonly parts: readonly Part[]
  readonly status: ResponseStatus
  readonly contextId: string | undefined
  readonly taskId: string | undefined
}

interface Heard {
  readonly task: { readonly id: string; readonly context: string | undefined } | undefined
  readonly status: ResponseStatus | undefined
  readonly statusName: StatusName | undefined
  readonly said: readonly WirePart[]
  readonly artifacts: ReadonlyMap<string, readonly WirePart[]>
  readonly context: string | undefined
}

/** Reads the answer to one call in each of its forms: a message, a task, or a task and its updates. */
export function createAnswerState(expected: ExpectedAnswer) {
  const nothing = { task: undefined, status: undefined, statusName: undefined, context: undefined }
  let heard: Heard = { ...nothing, said: [], artifacts: new Map() }
  let { before: repeated } = expected

  /** A repeated status ends nothing. */
  const endOf = ({ status, statusName }: Heard) =>
    repeated && statusName && isSameStatus(statusName, repeated) ? undefined : status

  return {
    /** Reads one result or event of a stream. @throws Undeliverable when it is invalid, or names another task than the one before */
    take(event: unknown): void {
      const [name, value] = readEvent(event)
      const before = heard.task?.id ?? expected.taskId
      const about = name === 'message' ? undefined : String(value.id ?? value.taskId)
      if (before !== undefined && about !== undefined && about !== before)
        throw refuseAnswer('it is about another task')
      heard = readers[name](value, nameTask(value, name, heard))
      if (countParts(heard) > most.parts) throw refuseAnswer('it has too many parts')
    },
    /** The task, for later requests. */
    taskId: () => heard.task?.id,
    /** The parts that count so far. */
    soFar: () => inlineParts([...heard.artifacts.values()].flat()),
    /** Undefined while the agent works. */
    finished(): FinishedAnswer | undefined {
      const status = endOf(heard)
      if (status === undefined) return undefined
      const artifacts = [...heard.artifacts.values()].flat()
      const isResult = status === 'completed' && artifacts.length > 0
      return {
        parts: inlineParts(isResult ? artifacts : [...heard.said, ...artifacts]),
        status,
        contextId: heard.task?.context ?? heard.context,
        taskId: heard.task?.id,
      }
    },
    /** The name of the latest status; undefined before the first. */
    status: () => heard.statusName,
    /** Accepts the status from before the message as the answer, because no other came. */
    acceptRepeated(): void {
      repeated = undefined
    },
  }
}

/**
 * A stream may begin with an update, because updates name their task. For continued tasks a2a-python and a2a-go do so. a2a-go's template
 * always does, although A2A §3.1.2 wants a task first.
 */
function nameTask({ taskId, contextId }: Member, name: EventName, heard: Heard): Heard {
  if (heard.task !== undefined || (name !== 'statusUpdate' && name !== 'artifactUpdate')) return heard
  return { ...heard, task: { id: String(taskId), context: readText(contextId) } }
}

type EventName = 'message' | 'task' | 'statusUpdate' | 'artifactUpdate'
type Member = Readonly<Record<string, unknown>>

/** Exactly one of the four members, which is complete (A2A §3.2.3). */
function readEvent(event: unknown): readonly [EventName, Member] {
  const names = isJsonObject(event) ? Object.keys(checks).filter(name => isJsonObject(event[name])) : []
  const [name] = names
  if (!isJsonObject(event) || name === undefined || names.length > 1)
    throw refuseAnswer('it is neither message nor task')
  const [violation] = checks[name]?.(event[name]) ?? []
  if (violation) throw refuseAnswer(`${name}.${violation.field} ${violation.description}`.slice(0, 200))
  return [name as EventName, event[name] as Member]
}

const readers: Readonly<Record<EventName, (value: Member, heard: Heard) => Heard>> = {
  message: (value, heard) => ({
    ...heard,
    status: 'completed',
    said: (value as unknown as WireMessage).parts,
    context: readText(value.contextId),
  }),
  task: (value, heard) => ({
    ...readStatus(value.status as Member, heard),
    task: { id: String(value.id), context: readText(value.contextId) },
    artifacts: new Map(((value.artifacts ?? []) as readonly WireArtifact[]).map(item => [item.artifactId, item.parts])),
  }),
  statusUpdate: (value, heard) => readStatus(value.status as Member, heard),
  artifactUpdate(value, heard) {
    const { artifactId, parts: added } = value.artifact as WireArtifact
    const before = value.append === true ? (heard.artifacts.get(artifactId) ?? []) : []
    if (heard.artifacts.size >= most.artifacts && !heard.artifacts.has(artifactId)) {
      throw refuseAnswer('it has too many artifacts')
    }
    return { ...heard, artifacts: new Map(heard.artifacts).set(artifactId, [...before, ...added]) }
  },
}

function readStatus(status: Member, heard: Heard): Heard {
  const { state, message: said } = status
  const words = isJsonObject(said) ? (said as unknown as WireMessage).parts : []
  return { ...heard, status: endings[String(state)], statusName: nameStatus(status), said: words }
}

function countParts({ said, artifacts }: Heard): number {
  let count = said.length
  for (const list of artifacts.values()) count += list.length
  return count
}

function readText(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** Joins streamed text in one part. Bytes stay in the answer, because they are not stored yet. */
function inlineParts(wire: readonly WirePart[]): readonly Part[] {
  return wire.flatMap(part => readToolEvent(part) ?? inlinePart(part)).reduce<Part[]>(joinParts, [])
}

function inlinePart(wire: WirePart): readonly Part[] {
  const { parts: read, blobs } = readParts([wire])
  const [{ bytes } = { bytes: new Uint8Array() }] = blobs
  return read.map((item): Part => {
    if ((item.kind !== 'file' && item.kind !== 'artifact') || item.bytes_ref.kind !== 'content_addressed') return item
    return { ...item, bytes_ref: { kind: 'inline', data_base64: Buffer.from(bytes).toString('base64') } }
  })
}

/** A tool call with a known id replaces its beginning. */
function joinParts(before: Part[], next: Part): Part[] {
  const begun =
    next.kind === 'tool_call'
      ? before.findIndex(({ kind, id }: Part & { id?: string }) => kind === next.kind && id === next.id)
      : -1
  if (begun >= 0) return before.with(begun, next)
  const last = before.at(-1)
  if (next.kind !== 'text' || last?.kind !== 'text' || last.mime !== next.mime) return [...before, next]
  return before.with(-1, { ...last, content: last.content + next.content })
}

/** Identifies a status of a task, so that a repetition is recognized (A2A §4.1.2). */
export type StatusName = ReturnType<typeof nameStatus>

function nameStatus({ state, timestamp, message }: Readonly<Record<string, unknown>>) {
  return { state, timestamp, messageId: isJsonObject(message) ? message.messageId : undefined }
}

/**
 * Whether a status is the one from before the message. Servers repeat the old status before they continue; some first move its question
 * into the history.
 */
function isSameStatus(now: StatusName, before: StatusName): boolean {
  const isMoved = now.messageId === undefined
  return (
    now.state === before.state && now.timestamp === before.timestamp && (isMoved || now.messageId === before.messageId)
  )
}
