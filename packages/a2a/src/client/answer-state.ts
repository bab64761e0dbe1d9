import type { Part, ResponseStatus } from '@postern/core'
import type { WireMessage, WirePart } from '../format/wire.ts'
import { readParts } from '../parts/read-parts.ts'
import { readToolEvent } from '../parts/tool-events.ts'
import { identifier, line, object, oneOf } from '../validate/leaves.ts'
import { part } from '../validate/message.ts'
import type { ValueCheck } from '../validate/shape.ts'
import { arrayOf, isObject, optional, required, shapeOf } from '../validate/shape.ts'
import { refuseAnswer } from './exchange/refusals.ts'
import type { StatusName } from './pending-question.ts'
import { isSameStatus, nameStatus } from './pending-question.ts'

/** How a state of theirs reads here; those without an end are absent. */
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

/** What has been heard of an answer so far. */
export interface AnswerState {
  /**
   * Takes one result or event of a stream.
   * @throws Undeliverable when it is not valid, or speaks of another task than the one before
   */
  take(event: unknown): void
  /** The task, for asking again. */
  taskId(): string | undefined
  /** What it has said and not taken back. */
  soFar(): readonly Part[]
  /** Undefined while the agent is at work. */
  finished(): FinishedAnswer | undefined
  /** The status heard last, by its name; undefined before the first. */
  status(): StatusName | undefined
  /** The status from before the message is taken for the answer after all: nothing else came. */
  acceptRepeated(): void
}

export interface ExpectedAnswer {
  /** Of the task that the message goes on with. */
  readonly taskId: string | undefined
  /** How that task stood before the message: heard again, it is no answer to it. */
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

/** Reads the answer to one call, whichever way it comes: a message, a task, or a task and what follows. */
export function createAnswerState(expected: ExpectedAnswer): AnswerState {
  const nothing = { task: undefined, status: undefined, statusName: undefined, context: undefined }
  let heard: Heard = { ...nothing, said: [], artifacts: new Map() }
  let { before: repeated } = expected

  /** A status that is only repeated ends nothing. */
  const endOf = ({ status, statusName }: Heard) =>
    repeated && statusName && isSameStatus(statusName, repeated) ? undefined : status

  return {
    take(event) {
      const [name, value] = readEvent(event)
      const before = heard.task?.id ?? expected.taskId
      const about = name === 'message' ? undefined : String(value.id ?? value.taskId)
      if (before !== undefined && about !== undefined && about !== before)
        throw refuseAnswer('it is about another task')
      if (endOf(heard) !== undefined) throw refuseAnswer('it goes on behind its end')
      heard = readers[name](value, nameTask(value, name, heard))
      if (countParts(heard) > most.parts) throw refuseAnswer('it has too many parts')
    },
    taskId: () => heard.task?.id,
    soFar: () => inlineParts([...heard.artifacts.values()].flat()),
    finished() {
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
    status: () => heard.statusName,
    acceptRepeated() {
      repeated = undefined
    },
  }
}

/**
 * Updates name their task, so that a stream may begin with one: that of a continued task does in a2a-python and a2a-go, and in
 * a2a-go's template every stream does, although A2A §3.1.2 wants a task first.
 */
function nameTask({ taskId, contextId }: Member, name: EventName, heard: Heard): Heard {
  if (heard.task !== undefined || (name !== 'statusUpdate' && name !== 'artifactUpdate')) return heard
  return { ...heard, task: { id: String(taskId), context: readText(contextId) } }
}

type EventName = 'message' | 'task' | 'statusUpdate' | 'artifactUpdate'
type Member = Readonly<Record<string, unknown>>

/** Exactly one of the four, whole (A2A §3.2.3). */
function readEvent(event: unknown): readonly [EventName, Member] {
  const names = isObject(event) ? Object.keys(checks).filter(name => isObject(event[name])) : []
  const [name] = names
  if (!isObject(event) || name === undefined || names.length > 1) throw refuseAnswer('it is neither message nor task')
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

interface WireArtifact {
  readonly artifactId: string
  readonly parts: readonly WirePart[]
}

function readStatus(status: Member, heard: Heard): Heard {
  const { state, message: said } = status
  const words = isObject(said) ? (said as unknown as WireMessage).parts : []
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

/** Streamed text runs on in one part; bytes travel with the answer, since no store of ours has them yet. */
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

/** A tool call that comes again under its id takes the place of its beginning. */
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
