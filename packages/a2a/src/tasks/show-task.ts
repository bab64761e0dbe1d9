import type { Entry, NormalizedResponse, Part, SettledTask, Store, TaskRecord } from '@postern/core'
import { isoTime } from '@postern/core'
import { countPartChars } from '../format/count-chars.ts'
import { toWireState } from '../format/states.ts'
import type { WireMessage, WirePart, WireTask } from '../format/wire.ts'
import { readKnownBytes } from '../parts/known-bytes.ts'
import type { KnownBytes } from '../parts/write-parts.ts'
import { writeParts } from '../parts/write-parts.ts'

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

interface RenderView {
  readonly made: readonly Made[]
  readonly history: readonly Entry[]
  readonly known: KnownBytes
}

/**
 * A completed answer is an artifact. The status message repeats it for clients that read only the status. A question, a refusal or a
 * failure is only a status message.
 */
function renderTask(record: SettledTask, { made, history, known }: RenderView): WireTask {
  const { id, context, state, updatedAt, response } = record
  const message = response && response.parts.length > 0 ? renderAnswer(response, record, known) : undefined
  return {
    id,
    contextId: context,
    status: { state: toWireState(state), timestamp: isoTime(updatedAt), ...(message && { message }) },
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
  const answers = [...earlier, ...(response ? [response] : [])].map(answer => ({
    id: answer.id,
    parts: partsMade(answer),
  }))
  return [...answers, ...heard].filter(({ parts }) => parts.length > 0)
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

type TaskIds = Pick<TaskRecord, 'id' | 'context'>

export function renderAnswer(
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
