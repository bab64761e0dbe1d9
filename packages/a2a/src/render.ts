// Renders answers as A2A tasks with artifacts and history.
import { hash } from 'node:crypto'
import type { AnswerSection, Json, NormalizedResponse, Part, ShowRequirement } from '@postern/message'
import { isoTime, sectionOf, showRequirements } from '@postern/message'
import type {
  AnsweredTurn,
  ChannelContext,
  Delivery,
  Entry,
  SettledTask,
  Store,
  TaskRecord,
  TaskState,
  WatchTarget,
} from '@postern/pipeline'
import { agentPausedText } from '@postern/pipeline'
import type { WireArtifact, WireMessage, WirePart, WireTask } from './format/wire.ts'
import { countPartChars, countTaskChars, statesAtRest, wireStateOf } from './format/wire.ts'
import type { BytesByDigest } from './parts/parts.ts'
import { writeOtherPart } from './parts/parts.ts'

type TaskIds = Pick<TaskRecord, 'id' | 'context'>

/** The task of a message. `isCanceled` is set for the message that tells an agent of a cancellation, whose answer no caller fetches. */
type TaskTarget = TaskIds & { readonly isCanceled?: true }

/** A task after an answer. `isPushed` is true if it is sent as a notification, and false if the caller fetches it. */
export interface TaskDocument {
  readonly task: WireTask
  readonly isPushed: boolean
}

/** Addresses an answer to its task. The caller fetches the answer, so it counts as delivered once it is stored. */
export function addressTask({ turn }: AnsweredTurn) {
  const { id, isCanceled } = turn.target as unknown as TaskTarget
  if (isCanceled) return { deliveries: [], aliases: [] }
  return { deliveries: [{ to: `task:${id}`, target: turn.target, isPulled: true }], aliases: [] }
}

/** Returns the task in which an answer would be if a peer had asked for it. */
export function previewTaskTarget({ id, thread_id }: NormalizedResponse): Json {
  return { id, context: thread_id } satisfies TaskIds
}

/**
 * The most characters of a notification, approximately. Subscribers fetch larger tasks. A task may have ten subscribers, and the operator's list
 * stores the complete notification.
 */
const maxPushedChars = 256 * 1024

/** Renders the task after the answer. */
export function renderDelivery({ target, response, message }: Delivery): TaskDocument {
  const ids = target as unknown as TaskIds & Partial<WatchTarget>
  const isPushed = ids.watch !== undefined
  const state = (ids.state ?? response?.status ?? 'submitted') as TaskState
  const updatedAt = ids.at ?? Date.parse(response?.created_at ?? message.received_at)
  const show = (answer: NormalizedResponse | undefined) =>
    renderTask(
      { ...ids, state, updatedAt, response: answer },
      { artifacts: artifactsOf(answer), history: [], bytesByDigest: noBytes },
    )
  const task = show(response)
  return { task: isPushed && countTaskChars(task) > maxPushedChars ? show(undefined) : task, isPushed }
}

/** Describes a task for the operator. A task contains no signature and no secret. */
export function describeTask({ task }: TaskDocument): Json {
  return { ...task } as unknown as Json
}

/** The part of a task that a caller wants to see. */
export interface TaskView {
  /** The most messages of the history, of which the newest are shown. 0 means no history. */
  readonly historyLength: number
  readonly includeArtifacts: boolean
}

/** Returns the task in its wire form (A2A §4.1.1), with attachments. A task without entries has no history to show. */
export async function showTask(
  store: Pick<ShownTasks, 'findBlob' | 'isPaused'>,
  record: SettledTask,
  view: TaskView,
): Promise<WireTask> {
  const history = pickHistory(record, view.historyLength)
  const artifacts = view.includeArtifacts ? listArtifactsOf(record) : []
  const partHolders = [...artifacts, ...history, ...(record.response ? [record.response] : [])]
  const loadedBytes = loadBytes(
    store,
    partHolders.flatMap(({ parts }) => parts),
  )
  const bytesByDigest = loadedBytes instanceof Promise ? await loadedBytes : loadedBytes
  const isPaused = store.isPaused?.(record.agent) === true
  return renderTask(record, { artifacts, history, bytesByDigest, isPaused })
}

const noBytes: BytesByDigest = new Map()

/** Reads the bytes of attachments. Most answers have none, so the result need not be a promise. */
export function loadBytes(
  store: Pick<Store, 'findBlob'>,
  parts: readonly Part[],
): BytesByDigest | Promise<BytesByDigest> {
  return parts.some(part => part.kind !== 'text') ? readKnownBytes(store, parts) : noBytes
}

type RenderedTask = Pick<SettledTask, 'id' | 'context' | 'state' | 'updatedAt' | 'response'>

interface TaskContent {
  readonly artifacts: readonly ProducedArtifact[]
  readonly history: readonly Entry[]
  readonly bytesByDigest: BytesByDigest
  /** True if the agent begins no turn until an operator resumes it. */
  readonly isPaused?: boolean
}

/**
 * Renders a task. Results are artifacts and never messages (A2A §3.7). A question, a refusal or a failure is the status message until the next
 * message is being processed, because an answered question is history. A task that waits for a paused agent says so.
 */
function renderTask(
  record: RenderedTask,
  { artifacts, history, bytesByDigest, isPaused = false }: TaskContent,
): WireTask {
  const { id, context, state, updatedAt, response } = record
  const statusParts = response && statesAtRest.has(state) ? listStatusParts(response) : []
  const answer = response && statusParts.length > 0 ? { id: response.id, parts: statusParts } : undefined
  const statusMessage =
    answer ?? (isPaused && state === 'submitted' ? { id: `${id}-paused`, parts: pausedParts } : undefined)
  const message = statusMessage && renderAnswer(statusMessage, record, bytesByDigest)
  return {
    id,
    contextId: context,
    status: { state: wireStateOf[state], timestamp: isoTime(updatedAt), ...(message && { message }) },
    ...(artifacts.length > 0 && {
      artifacts: artifacts.map(artifact => renderArtifact(artifact, bytesByDigest)),
    }),
    ...(history.length > 0 && { history: history.map(entry => renderEntry(entry, record, bytesByDigest)) }),
  }
}

const pausedParts: readonly Part[] = [{ kind: 'text', mime: 'text/plain', content: agentPausedText }]

/** An artifact of the agent. */
export interface ProducedArtifact {
  readonly id: string
  readonly name?: string | undefined
  readonly parts: readonly Part[]
}

/** Lists the artifacts of an answer: one for each section, and one with the id of the answer for the parts without a section. */
export function splitSections(id: string, parts: readonly Part[]): readonly ProducedArtifact[] {
  const artifactsBySection = new Map<string | undefined, ProducedArtifact & { readonly parts: Part[] }>()
  for (const part of parts) {
    const section = sectionOf(part)
    const artifact = artifactsBySection.get(section?.id) ?? { ...describeArtifact(id, section), parts: [] }
    artifact.parts.push(part)
    artifactsBySection.set(section?.id, artifact)
  }
  return [...artifactsBySection.values()]
}

/** Names an artifact. The id is the same for the same section, whether it is streamed or complete. */
function describeArtifact(id: string, section: AnswerSection | undefined): Omit<ProducedArtifact, 'parts'> {
  if (!section) return { id }
  return { id: `${id}-${hash('sha256', section.id).slice(0, 12)}`, ...(section.name && { name: section.name }) }
}

export function renderArtifact(
  { id: artifactId, name, parts }: ProducedArtifact,
  bytesByDigest?: BytesByDigest,
): WireArtifact {
  return { artifactId, ...(name && { name }), parts: writeParts(parts, bytesByDigest) }
}

/** Lists all artifacts of the task, streamed or complete, oldest first. */
function listArtifactsOf({ earlierResponses, response, canceledAnswers }: SettledTask): readonly ProducedArtifact[] {
  return [
    ...earlierResponses.flatMap(artifactsOf),
    ...artifactsOf(response),
    ...canceledAnswers.flatMap(({ id, parts }) => splitSections(id, parts)),
  ]
}

function artifactsOf(answer: NormalizedResponse | undefined): readonly ProducedArtifact[] {
  return answer ? splitSections(answer.id, listArtifactParts(answer)) : []
}

/** Returns the parts that are an artifact. They are a result, or were streamed before a question, a refusal or a failure. */
export function listArtifactParts(response: NormalizedResponse): readonly Part[] {
  if (isResult(response)) return response.parts
  return [...response.parts.slice(0, response.results ?? 0), ...(response.unfinished ?? [])]
}

/** Returns the parts that are a status message. They are a question, a refusal or a failure, without the parts of the artifact. */
export function listStatusParts(response: NormalizedResponse): readonly Part[] {
  return isResult(response) ? [] : response.parts.slice(response.results ?? 0)
}

/** Returns true if a response is a result and not a question or refusal. */
function isResult({ status }: NormalizedResponse): boolean {
  return status === 'completed' || status === 'working'
}

/** Returns parts in their wire form, with attachments. */
export async function showParts(store: Pick<Store, 'findBlob'>, parts: readonly Part[]): Promise<readonly WirePart[]> {
  return writeParts(parts, await loadBytes(store, parts))
}

/**
 * Selects the entries of the history. The last answer is the status message and not yet history. The history contains those parts of earlier answers
 * that are in no artifact.
 */
function pickHistory(record: SettledTask, historyLength: number): readonly Entry[] {
  // Reading the entries may query the store, so it happens only if necessary.
  if (historyLength === 0) return []
  const { entries = [], response, earlierResponses } = record
  const lastEntry = entries.at(-1)
  const pastEntries = response && lastEntry?.role === 'assistant' ? entries.slice(0, -1) : entries
  const statusPartsById = new Map(earlierResponses.map(answer => [answer.id, listStatusParts(answer)]))
  const messages = pastEntries.map(entry =>
    entry.role === 'assistant' ? replaceWithStatusParts(entry, statusPartsById) : entry,
  )
  return messages.filter(({ parts }) => parts.length > 0).slice(-historyLength)
}

function replaceWithStatusParts(entry: Entry, statusPartsById: ReadonlyMap<string, readonly Part[]>): Entry {
  return { ...entry, parts: statusPartsById.get(entry.nativeId ?? '') ?? entry.parts }
}

/** Returns the task with the newest part of its history within about `maxChars`. The server chooses the length. */
export function trimHistory(task: WireTask, maxChars: number): WireTask {
  const { history = [], ...members } = task
  let chars = 0
  const firstExcess = history.findLastIndex(({ parts }) => {
    chars += countPartChars(parts)
    return chars > maxChars
  })
  if (firstExcess < 0) return task
  const shortHistory = history.slice(firstExcess + 1)
  return shortHistory.length > 0 ? { ...members, history: shortHistory } : members
}

function renderAnswer(
  { id: messageId, parts }: ProducedArtifact,
  { id, context }: TaskIds,
  bytesByDigest?: BytesByDigest,
): WireMessage {
  return { messageId, role: 'ROLE_AGENT', contextId: context, taskId: id, parts: writeParts(parts, bytesByDigest) }
}

function renderEntry(entry: Entry, { id, context }: TaskIds, bytesByDigest: BytesByDigest): WireMessage {
  return {
    messageId: entry.nativeId ?? entry.entryId,
    role: entry.role === 'user' ? 'ROLE_USER' : 'ROLE_AGENT',
    contextId: context,
    taskId: id,
    parts: writeParts(entry.parts, bytesByDigest),
  }
}

/** The most bytes of attachments in one answer. Attachments beyond this limit have no bytes. */
const maxAttachmentBytes = 16 * 1024 * 1024

/** Reads the bytes that `parts` refer to, each digest once. */
export async function readKnownBytes(
  store: Pick<Store, 'findBlob'>,
  parts: readonly Part[],
  maxBytes = maxAttachmentBytes,
): Promise<BytesByDigest> {
  const bytesByDigest = new Map<string, string>()
  let remainingBytes = maxBytes
  for (const digest of new Set(parts.flatMap(digestOf))) {
    const blob = await store.findBlob(digest)
    if (!blob || blob.bytes.length > remainingBytes) continue
    remainingBytes -= blob.bytes.length
    bytesByDigest.set(
      digest,
      Buffer.from(blob.bytes.buffer, blob.bytes.byteOffset, blob.bytes.length).toString('base64'),
    )
  }
  return bytesByDigest
}

function digestOf(part: Part): readonly string[] {
  const isStored = (part.kind === 'file' || part.kind === 'artifact') && part.bytes_ref.kind === 'content_addressed'
  return isStored && part.bytes_ref.kind === 'content_addressed' ? [part.bytes_ref.digest] : []
}

/** The tasks with all requirements in the form for the task's owner, who may decide them. */
export interface ShownTasks extends Pick<Store, 'findTask' | 'listTasks' | 'findBlob' | 'listen'> {
  readonly isPaused?: ChannelContext['isPaused']
}

/** Shows the requirements of tasks to their owner, and whether their agent is paused. */
export function showTasks(
  store: ShownTasks,
  { showRequirement: show, isPaused }: Pick<ChannelContext, 'showRequirement' | 'isPaused'>,
): ShownTasks {
  if (!show && !isPaused) return store
  const showTaskRecord = <Task extends SettledTask>(record: Task) => (show ? showRecord(record, show) : record)
  return {
    ...(isPaused && { isPaused }),
    findBlob: digest => store.findBlob(digest),
    // The notice of a turn's end may contain the task.
    listen: (topic, listener) => store.listen(topic, notice => listener(show ? showNotice(notice, show) : notice)),
    async findTask(key) {
      const record = await store.findTask(key)
      return record && showTaskRecord(record)
    },
    async listTasks(filter) {
      const { tasks, total } = await store.listTasks(filter)
      return { tasks: tasks.map(showTaskRecord), total }
    },
  }
}

function showNotice(notice: unknown, show: ShowRequirement): unknown {
  const { task } = (notice ?? {}) as { readonly task?: SettledTask | undefined }
  return task ? { ...(notice as object), task: showRecord(task, show) } : notice
}

/** Shows the requirements in a record. Its getters stay lazy, because they query the store. */
function showRecord<Task extends SettledTask>(record: Task, show: ShowRequirement): Task {
  const { owner, id, agent, context, state, updatedAt } = record
  let entries: readonly Entry[] | undefined
  let response: { readonly read: NormalizedResponse | undefined } | undefined
  const shownTask: SettledTask = {
    owner,
    id,
    agent,
    context,
    state,
    updatedAt,
    get entries() {
      entries ??= record.entries?.map(entry => showPartsOf(entry, show))
      return entries
    },
    get response() {
      response ??= { read: record.response && showPartsOf(record.response, show) }
      return response.read
    },
    get earlierResponses() {
      // Only results are shown of earlier answers, and a result contains no requirement.
      return record.earlierResponses
    },
    get canceledAnswers() {
      return record.canceledAnswers
    },
  }
  return shownTask as Task
}

/** Shows a delivery to a subscriber, who has the rights of the task's owner, because the owner set up the subscription. */
export function showDelivery(delivery: Delivery, show: ShowRequirement | undefined): Delivery {
  const { response } = delivery
  return show && response ? { ...delivery, response: showPartsOf(response, show) } : delivery
}

function showPartsOf<HasParts extends { readonly parts: readonly Part[] }>(
  partHolder: HasParts,
  show: ShowRequirement,
): HasParts {
  const parts = showRequirements(partHolder.parts, show)
  return parts === partHolder.parts ? partHolder : { ...partHolder, parts }
}

/** Converts our parts to A2A parts. Parts that A2A lacks become `data` of their own kind, so that nothing is lost. */
export function writeParts(parts: readonly Part[], bytesByDigest: BytesByDigest = noBytes): readonly WirePart[] {
  return parts.flatMap(part =>
    part.kind === 'text' ? { text: part.content, mediaType: part.mime } : writeOtherPart(part, bytesByDigest),
  )
}
