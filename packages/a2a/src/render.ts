import type {
  AnsweredTurn,
  Delivery,
  Entry,
  Json,
  NormalizedResponse,
  Part,
  SettledTask,
  ShowRequirement,
  Store,
  TaskRecord,
  TaskState,
  WatchTarget,
} from '@postern/core'
import { isoTime, showRequirements } from '@postern/core'
import type { WireMessage, WirePart, WireTask } from './format/wire.ts'
import { countPartChars, countTaskChars, wireStateOf } from './format/wire.ts'
import type { KnownBytes } from './parts/parts.ts'
import { writeOtherPart } from './parts/parts.ts'

type TaskIds = Pick<TaskRecord, 'id' | 'context'>

/** A task after an answer, and how it reaches the peer: by fetching or by notification. */
export interface TaskDocument {
  readonly task: WireTask
  readonly isPushed: boolean
}

/** The answer waits in its task until the caller fetches it, so a committed answer is delivered. */
export function addressTask({ turn }: AnsweredTurn) {
  const { id } = turn.target as unknown as TaskIds
  return { deliveries: [{ to: `task:${id}`, target: turn.target, pulled: true }], aliases: [] }
}

/** The task that an answer would be in, had a peer asked for it. */
export function previewTaskTarget({ id, thread_id }: NormalizedResponse): Json {
  return { id, context: thread_id } satisfies TaskIds
}

/**
 * Approximate characters of a notification; subscribers fetch the rest. A task may have ten subscribers, and the operator's list keeps all
 * of it.
 */
const maxPushedChars = 256 * 1024

/** The task after the answer. */
export function renderDelivery({ target, response, message }: Delivery): TaskDocument {
  const ids = target as unknown as TaskIds & Partial<WatchTarget>
  const isPushed = ids.watch !== undefined
  const state = (ids.state ?? response?.status ?? 'submitted') as TaskState
  const updatedAt = ids.at ?? Date.parse(response?.created_at ?? message.received_at)
  const show = (said: NormalizedResponse | undefined) =>
    renderTask({ ...ids, state, updatedAt, response: said }, { made: madeBy(said), history: [], known: noBytes })
  const task = show(response)
  return { task: isPushed && countTaskChars(task) > maxPushedChars ? show(undefined) : task, isPushed }
}

/** A task contains no signature and no secret. */
export function describeTask({ task }: TaskDocument): Json {
  return { ...task } as unknown as Json
}

/** How much of a task a caller wants. */
export interface TaskView {
  /** Newest messages at most; 0: no history. */
  readonly historyLength: number
  readonly includeArtifacts: boolean
}

/** The task as the wire has it (A2A §4.1.1), attachments included. One without entries has no history to show. */
export async function showTask(store: Pick<Store, 'findBlob'>, record: SettledTask, view: TaskView): Promise<WireTask> {
  const history = pickHistory(record, view.historyLength)
  const made = view.includeArtifacts ? listMade(record) : []
  const said = [...made, ...history, ...(record.response ? [record.response] : [])]
  const known = await knownBytes(
    store,
    said.flatMap(({ parts }) => parts),
  )
  return renderTask(record, { made, history, known })
}

const noBytes: KnownBytes = new Map()

/** Most answers have no attachment, so there is nothing to wait for. */
function knownBytes(store: Pick<Store, 'findBlob'>, parts: readonly Part[]): KnownBytes | Promise<KnownBytes> {
  return parts.some(part => part.kind !== 'text') ? readKnownBytes(store, parts) : noBytes
}

type ShownTask = Pick<SettledTask, 'id' | 'context' | 'state' | 'updatedAt' | 'response'>

interface RenderView {
  readonly made: readonly Made[]
  readonly history: readonly Entry[]
  readonly known: KnownBytes
}

/**
 * A completed answer is an artifact. The status message repeats it for clients that read only the status. A question, a refusal or a
 * failure is only a status message.
 */
function renderTask(record: ShownTask, { made, history, known }: RenderView): WireTask {
  const { id, context, state, updatedAt, response } = record
  const message = response && response.parts.length > 0 ? renderAnswer(response, record, known) : undefined
  return {
    id,
    contextId: context,
    status: { state: wireStateOf[state], timestamp: isoTime(updatedAt), ...(message && { message }) },
    ...(made.length > 0 && {
      artifacts: made.map(({ id: artifactId, parts }) => ({ artifactId, parts: writeParts(parts, known) })),
    }),
    ...(history.length > 0 && { history: history.map(entry => renderEntry(entry, record, known)) }),
  }
}

/** The agent's artifact, under the id of the answer. */
interface Made {
  readonly id: string
  readonly parts: readonly Part[]
}

/** All artifacts of the task, streamed or complete, oldest first. */
function listMade({ earlier, response, heard }: SettledTask): readonly Made[] {
  return [...earlier.flatMap(madeBy), ...madeBy(response), ...heard.filter(({ parts }) => parts.length > 0)]
}

function madeBy(answer: NormalizedResponse | undefined): readonly Made[] {
  const parts = answer ? partsMade(answer) : []
  return answer && parts.length > 0 ? [{ id: answer.id, parts }] : []
}

/** For a question, a refusal or a failure: what was streamed before it. */
export function partsMade(response: NormalizedResponse): readonly Part[] {
  if (isResult(response)) return response.parts
  return [...response.parts.slice(0, response.results ?? 0), ...(response.unfinished ?? [])]
}

/** Leaves out questions and refusals. */
export function isResult({ status }: NormalizedResponse): boolean {
  return status === 'completed' || status === 'working'
}

/** Parts as the wire has them, attachments included. */
export async function showParts(store: Pick<Store, 'findBlob'>, parts: readonly Part[]): Promise<readonly WirePart[]> {
  return writeParts(parts, await knownBytes(store, parts))
}

/** The last answer is the status message and not yet history. */
function pickHistory(record: SettledTask, historyLength: number): readonly Entry[] {
  // Reading entries may query the store, so it happens only if needed.
  if (historyLength === 0) return []
  const { entries = [], response } = record
  const last = entries.at(-1)
  const past = response && last?.role === 'assistant' ? entries.slice(0, -1) : entries
  return past.slice(-historyLength)
}

/** The task with the newest part of its history within about `maxChars`. The server chooses the length. */
export function trimHistory(task: WireTask, maxChars: number): WireTask {
  const { history = [], ...rest } = task
  let chars = 0
  const first = history.findLastIndex(({ parts }) => {
    chars += countPartChars(parts)
    return chars > maxChars
  })
  if (first < 0) return task
  const kept = history.slice(first + 1)
  return kept.length > 0 ? { ...rest, history: kept } : rest
}

function renderAnswer(
  { id: messageId, parts }: NormalizedResponse,
  { id, context }: TaskIds,
  known?: KnownBytes,
): WireMessage {
  return { messageId, role: 'ROLE_AGENT', contextId: context, taskId: id, parts: writeParts(parts, known) }
}

function renderEntry(entry: Entry, { id, context }: TaskIds, known: KnownBytes): WireMessage {
  return {
    messageId: entry.nativeId ?? entry.entryId,
    role: entry.role === 'user' ? 'ROLE_USER' : 'ROLE_AGENT',
    contextId: context,
    taskId: id,
    parts: writeParts(entry.parts, known),
  }
}

/** Bytes of attachments in one answer. Attachments beyond it are only described. */
const maxBytes = 16 * 1024 * 1024

/** Reads the bytes that `parts` refer to, each digest once. */
export async function readKnownBytes(store: Pick<Store, 'findBlob'>, parts: readonly Part[]): Promise<KnownBytes> {
  const known = new Map<string, string>()
  let room = maxBytes
  for (const digest of new Set(parts.flatMap(digestOf))) {
    const blob = await store.findBlob(digest)
    if (!blob || blob.bytes.length > room) continue
    room -= blob.bytes.length
    known.set(digest, Buffer.from(blob.bytes.buffer, blob.bytes.byteOffset, blob.bytes.length).toString('base64'))
  }
  return known
}

function digestOf(part: Part): readonly string[] {
  const isStored = (part.kind === 'file' || part.kind === 'artifact') && part.bytes_ref.kind === 'content_addressed'
  return isStored && part.bytes_ref.kind === 'content_addressed' ? [part.bytes_ref.digest] : []
}

/** Tasks with all requirements in the form for the task's owner, who may decide them. */
export type ShownTasks = Pick<Store, 'findTask' | 'listTasks' | 'findBlob' | 'listen'>

export function showTaskRequirements(store: ShownTasks, show: ShowRequirement | undefined): ShownTasks {
  if (!show) return store
  return {
    findBlob: digest => store.findBlob(digest),
    // The notice of a turn's end may contain the task.
    listen: (topic, listener) => store.listen(topic, notice => listener(showNotice(notice, show))),
    async findTask(key) {
      const record = await store.findTask(key)
      return record && showRecord(record, show)
    },
    async listTasks(filter) {
      const { tasks, total } = await store.listTasks(filter)
      return { tasks: tasks.map(record => showRecord(record, show)), total }
    },
  }
}

function showNotice(notice: unknown, show: ShowRequirement): unknown {
  const { task } = (notice ?? {}) as { readonly task?: SettledTask | undefined }
  return task ? { ...(notice as object), task: showRecord(task, show) } : notice
}

/** Members that are read late stay so, because reading costs queries. */
function showRecord<Task extends SettledTask>(record: Task, show: ShowRequirement): Task {
  const { owner, id, agent, context, state, updatedAt } = record
  let entries: readonly Entry[] | undefined
  let response: { readonly read: NormalizedResponse | undefined } | undefined
  const shown: SettledTask = {
    owner,
    id,
    agent,
    context,
    state,
    updatedAt,
    get entries() {
      entries ??= record.entries?.map(entry => withParts(entry, show))
      return entries
    },
    get response() {
      response ??= { read: record.response && withParts(record.response, show) }
      return response.read
    },
    get earlier() {
      // Results alone are shown of these, and no result asks for anything.
      return record.earlier
    },
    get heard() {
      return record.heard
    },
  }
  return shown as Task
}

/** A subscriber has the rights of the task's owner, who set up the subscription. */
export function showDelivery(delivery: Delivery, show: ShowRequirement | undefined): Delivery {
  const { response } = delivery
  return show && response ? { ...delivery, response: withParts(response, show) } : delivery
}

function withParts<Said extends { readonly parts: readonly Part[] }>(said: Said, show: ShowRequirement): Said {
  const parts = showRequirements(said.parts, show)
  return parts === said.parts ? said : { ...said, parts }
}

/** Our parts → A2A parts. Parts that A2A lacks become `data` of their own kind, so that nothing is lost. */
export function writeParts(parts: readonly Part[], known: KnownBytes = noBytes): readonly WirePart[] {
  return parts.flatMap(part =>
    part.kind === 'text' ? { text: part.content, mediaType: part.mime } : writeOtherPart(part, known),
  )
}
