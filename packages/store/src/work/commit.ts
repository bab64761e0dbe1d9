import type {
  Answer,
  Blob,
  Json,
  MessageState,
  NormalizedResponse,
  Planned,
  PlannedAction,
  TaskRecord,
  TaskState,
  Turn,
  WorkStore,
} from '@postern/core'
import type { ThreadTable } from '../conversations/threads.ts'
import { createBroadcastStarter } from '../deliveries/broadcasts.ts'
import type { NewDelivery } from '../deliveries/queue.ts'
import type { Batch, Sql } from '../engine/database.ts'
import { addTaskBytes, formatJson, moveTotals, noteChange, refuseLostLease } from '../engine/database.ts'
import type { StoreContext } from '../engine/store-context.ts'
import type { PartialAnswerPosition, ResponseDraft } from '../messages/responses.ts'
import { draftResponse } from '../messages/responses.ts'
import { findStoredWords } from '../messages/table.ts'
import type { RequirementTable } from '../requirements/table.ts'
import type { TaskTable } from '../tasks/table.ts'
import { createTaskRecorder } from '../tasks/table.ts'
import type { WatchTable } from '../tasks/watches.ts'
import { touchedBytes, touchedDestination, touchedTask, touchedThread } from '../together/touched.ts'
import type { NoteDraft, NoteTable } from '../turns/note-table.ts'
import { draftNote } from '../turns/note-table.ts'
import { appendAttempt, formatAttempt } from '../turns/queue.ts'
import type { TurnTable } from '../turns/table.ts'
import { createPersonalWriter } from './personal-state.ts'
import type { Rewording, RewordingDeps } from './rewording.ts'
import { createRewording } from './rewording.ts'

/** An answer as its columns, made before the transaction. */
interface Draft {
  readonly state: MessageState
  readonly taskState: TaskState
  readonly answer: Answer
  readonly said: PartialAnswerDraft | undefined
  readonly acts: readonly ActionDraft[]
  readonly notes: readonly NoteDraft[]
  readonly agentState: string | undefined
  /** How the attempt went. */
  readonly attempt: string
}

/** An act as its columns, made before the transaction. */
export interface ActionDraft {
  readonly act: PlannedAction
  /** Of a post. */
  readonly partialAnswer: PartialAnswerDraft | undefined
}

/** What agents do beside answering. */
export interface ActionWriting {
  draft(act: PlannedAction): ActionDraft
  /** Makes an act durable, inside a write. What it speaks of may be gone by now: then nothing happens. */
  write(batch: Batch, draft: ActionDraft, correlationId: string, now: number): void
}

interface TurnRow {
  readonly thread_id: number
  readonly task_id: number | null
}

interface EndedRow extends TurnRow {
  /** Another turn of its thread is open. */
  readonly is_awaited: 0 | 1
  /** Somebody is to be told of its task. */
  readonly is_watched: 0 | 1
}

interface EndedTurn extends EndedRow {
  /** Turns that were answered together with it. */
  readonly merged: readonly { readonly message: number }[]
}

export interface TurnCommitDeps {
  readonly turns: TurnTable
  readonly partialAnswers: PartialAnswerTable
  readonly notes: NoteTable
  readonly requirements: RequirementTable
  readonly tasks: TaskTable
  readonly watches: WatchTable
}

export function createCommit(
  { db, write, now, files }: StoreContext,
  tables: TurnCommitDeps,
  actions: ActionWriting,
): Pick<WorkStore, 'commit' | 'say' | 'act'> {
  const findHeld = db.prepare<TurnRow>(
    'SELECT thread_id, task_id FROM turns WHERE message = ? AND lease_token = ? AND lease_owner IS NOT NULL',
  )
  const commitDraft = createDraftCommit({ db, now }, tables, actions.write)

  /** Large bytes are on the disk before a row names them. */
  function writeWith<T>(blobs: readonly Blob[], writeRows: () => Promise<T>): Promise<T> {
    return blobs.length > 0 ? files.hold(blobs, writeRows) : writeRows()
  }

  function sayDraft(batch: Batch, turn: Turn, draft: PartialAnswerDraft): number {
    const row = findHeld.get(turn.message, turn.token)
    if (!row) return 0
    tables.partialAnswers.say(batch, draft, draft.answer, placeOf(turn, row, now()))
    return 1
  }

  return {
    async commit(turn, answer) {
      const draft = draftAnswer(answer, turn.content.recipient, actions)
      const committed = await writeWith(blobsOf(answer), () =>
        write(batch => commitDraft(batch, turn, draft), { touches: () => listCommitted(turn, answer) }),
      )
      refuseLostLease(committed, `turn ${turn.message}`)
    },
    async say(turn, answer) {
      const draft = draftPartialAnswer(answer, answer.response)
      const said = await writeWith(blobsOf(answer), () =>
        write(batch => sayDraft(batch, turn, draft), { touches: () => listCommitted(turn, answer) }),
      )
      refuseLostLease(said, `turn ${turn.message}`)
    },
    async act(acts, correlationId) {
      const drafts = acts.map(actions.draft)
      const writeAll = (batch: Batch) => {
        for (const draft of drafts) actions.write(batch, draft, correlationId, now())
      }
      await writeWith(acts.flatMap(blobsOfAction), () => write(writeAll))
    },
  }
}

type CommitDraft = (batch: Batch, turn: Turn, draft: Draft) => number

/** @returns 0 when the turn is not held any more: then nothing is written */
function createDraftCommit(
  { db, now }: Pick<StoreContext, 'db' | 'now'>,
  tables: TurnCommitDeps,
  writeAct: ActionWriting['write'],
): CommitDraft {
  const endTurn = createTurnEnding(db)
  const writeState = db.prepare(
    `INSERT INTO agent_states (thread_id, agent, state, scope) SELECT ?1, ?2, ?3, scope FROM threads WHERE id = ?1
     ON CONFLICT (thread_id, agent) DO UPDATE SET state = excluded.state`,
  )
  const writePersonal = createPersonalWriter(db)
  const finishTask = createTaskFinishing(db, tables)
  return (batch, turn, draft) => {
    const at = now()
    const ended = endTurn(turn, draft, at)
    if (!ended) return 0
    const place = placeOf(turn, ended, at)
    const { answer } = draft
    keepNotes(tables.notes, batch, draft, place)
    const response = tables.partialAnswers.say(batch, draft.said, answer, place)
    if (answer.requirements?.length) {
      tables.requirements.issue(answer.requirements, place)
      noteChange(batch, 'requirement', place.message)
    }
    if (draft.agentState !== undefined) writeState.run(place.thread, turn.agent, draft.agentState)
    if (answer.personState || answer.isGatewayReply) writePersonal(turn, place.thread, answer)
    for (const act of draft.acts) writeAct(batch, act, turn.correlationId, at)
    const readTask = finishTask(batch, draft, { ...place, response, isWatched: ended.is_watched === 1 })
    if (ended.is_awaited) tables.turns.promoteNext(batch, place.thread, at)
    tellSettled(batch, turn, { state: draft.state, merged: ended.merged, readTask })
    return 1
  }
}

function keepNotes(table: NoteTable, batch: Batch, { notes, answer }: Draft, place: PartialAnswerPosition): void {
  if (notes.length > 0) table.keep(batch, notes, place)
  if (answer.noted !== undefined) table.dropBeyond(batch, answer.noted, place)
}

/** Ends a turn that is still held, and those that are answered together with it. */
function createTurnEnding(db: Sql): (turn: Turn, draft: Draft, at: number) => EndedTurn | undefined {
  const end = db.prepare<EndedRow>(
    `UPDATE turns SET state = ?1, due_at = NULL, lease_owner = NULL, ended_at = ?2, error = ?3, trace = ${appendAttempt('?4')}
     WHERE message = ?5 AND lease_token = ?6 AND lease_owner IS NOT NULL RETURNING thread_id, task_id, EXISTS (SELECT 1 FROM turns o
       WHERE o.thread_id = turns.thread_id AND o.ended_at IS NULL AND o.message <> turns.message) AS is_awaited,
       EXISTS (SELECT 1 FROM push_subscriptions WHERE task_id = turns.task_id) AS is_watched`,
  )
  const endMerged = db.prepare<{ message: number }>(
    `UPDATE turns SET state = ?, ended_at = ?, error = ? WHERE merged_into = ? AND ended_at IS NULL RETURNING message`,
  )
  return ({ message, token, merged }, { state, answer, attempt }, at) => {
    const outcome = [state, at, answer.error ?? null] as const
    const row = end.get(...outcome, attempt, message, token)
    return row && { ...row, merged: merged ? endMerged.all(...outcome, message) : [] }
  }
}

interface TaskEnd extends NewDelivery, PartialAnswerPosition {
  readonly isWatched: boolean
}

/** Finishes the task of a turn. @returns what reads it as it is then, where its answer is at hand */
function createTaskFinishing(db: Sql, { tasks, watches }: Pick<TurnCommitDeps, 'tasks' | 'watches'>) {
  const toRecord = createTaskRecorder(db)
  return (
    batch: Batch,
    { answer, said, taskState }: Draft,
    { isWatched, ...cause }: TaskEnd,
  ): SettledTurn['readTask'] => {
    const { task, response, now: at } = cause
    if (task === undefined) return undefined
    const readRow = tasks.finish(task, taskState, response, at)
    if (isWatched) watches.tell(batch, task, cause)
    if (!said || answer.isRevision) return undefined
    return () => {
      const row = readRow()
      return row && toRecord(row, answer.response)
    }
  }
}

interface SettledTurn extends Pick<EndedTurn, 'merged'> {
  readonly state: MessageState
  readonly readTask: (() => TaskRecord | undefined) | undefined
}

function tellSettled(batch: Batch, turn: Turn, { state, merged, readTask }: SettledTurn): void {
  moveTotals(batch, 1 + merged.length, ['messages.working', `messages.${state}`])
  for (const { message } of merged) {
    noteChange(batch, 'turn', message)
    batch.notices.push({ topic: `message:${message}`, payload: { kind: 'settled' } })
  }
  noteChange(batch, 'turn', turn.message)
  batch.notices.push({ topic: `message:${turn.message}`, payload: { kind: 'settled' }, readTask })
}

function placeOf(turn: Turn, { thread_id, task_id }: TurnRow, at: number) {
  const { message, agent, via, task, content, correlationId } = turn
  const place = { message, agent, channel: via, thread: thread_id, task: task_id ?? undefined }
  const readMessage = findStoredWords(content)
  return { ...place, owner: task?.owner, now: at, answered: readMessage && { readMessage, correlationId } }
}

/** What an ordinary answer touches, but for files that it drops. Undefined: it may change anything. */
function listCommitted({ agent, thread, task }: Turn, answer: Answer): readonly string[] | undefined {
  const { acts = [], broadcasts = [], requirements = [], blobs = [], deliveries, personState } = answer
  if ([acts, broadcasts, requirements].some(list => list.length > 0)) return undefined
  return [
    touchedThread(thread),
    ...(task ? [touchedTask(task)] : []),
    ...deliveries.map(({ to }) => touchedDestination(thread, to)),
    ...blobs.map(({ digest }) => touchedBytes(digest)),
    ...(personState ? [JSON.stringify(['person', agent, personState.person])] : []),
  ]
}

function draftAnswer(answer: Answer, address: string, actions: Pick<ActionWriting, 'draft'>): Draft {
  const { response, state, acts = [], notes = [] } = answer
  return {
    state: stateAfter(answer),
    taskState: response?.status ?? (answer.error === undefined ? 'completed' : 'failed'),
    answer,
    said: response && draftPartialAnswer(answer, response),
    acts: acts.map(actions.draft),
    notes: notes.map(note => draftNote(note, address)),
    agentState: formatState(state),
    attempt: formatAttempt(answer.attempt),
  }
}

function blobsOf({ blobs = [], acts = [] }: Answer): readonly Blob[] {
  return [...blobs, ...acts.flatMap(blobsOfAction)]
}

function blobsOfAction(act: PlannedAction): readonly Blob[] {
  if (act.kind === 'post') return act.answer.blobs ?? []
  return act.kind === 'edit' ? (act.blobs ?? []) : []
}

function formatState(state: Json | undefined): string | undefined {
  return state === undefined ? undefined : formatJson(state)
}

function stateAfter({ response, error }: Answer): MessageState {
  if (response) return response.status === 'failed' ? 'failed' : 'answered'
  return error === undefined ? 'ignored' : 'failed'
}

/** A response as its columns, made before the transaction. */
interface PartialAnswerDraft {
  readonly answer: Answer
  readonly response: ResponseDraft
}

/** What agents say, revise and take back, with all it sets out on its way. Synchronous: inside a write. */
export interface PartialAnswerTable extends Rewording {
  /** @returns the response's seq, if there is one */
  say(
    batch: Batch,
    draft: PartialAnswerDraft | undefined,
    answer: Answer,
    place: PartialAnswerPosition,
  ): number | undefined
  send(batch: Batch, planned: Planned, cause: NewDelivery): void
}

interface PartialAnswerDeps extends RewordingDeps {
  readonly threads: ThreadTable
}

export function createPartialAnswerTable(db: Sql, tables: PartialAnswerDeps): PartialAnswerTable {
  const { responses, deliveries } = tables
  const broadcast = createBroadcastStarter(db)
  const rewording = createRewording(db, tables)

  /** What the same turn said meanwhile gives way to this; a crash may have kept it from being said. */
  function insertOrReword(
    batch: Batch,
    draft: PartialAnswerDraft,
    given: number | undefined,
    place: PartialAnswerPosition,
  ): number {
    const { response, blobs: newBlobs = [] } = draft.answer
    if (given === undefined || !response) return insertResponse(batch, draft, place, tables)
    rewording.reword(batch, { seq: given, message: place.message }, { response, blobs: newBlobs }, place.now)
    return given
  }

  const table: PartialAnswerTable = {
    say(batch, draft, answer, place) {
      const given = answer.isRevision ? responses.findGiven(place.message) : undefined
      // Taken back while its turn went on: it stays so.
      if (given && given.retracted_at !== null) return given.seq
      const response = draft && insertOrReword(batch, draft, given?.seq, place)
      const { answered } = place
      const atHand = draft && !given && answered ? { ...answered, response: draft.response } : undefined
      table.send(batch, answer, { ...place, response, atHand })
      return response
    },
    ...rewording,
    send(batch, planned, cause) {
      deliveries.queue(batch, planned.deliveries, cause)
      for (const each of planned.broadcasts ?? []) {
        broadcast(each, cause)
        batch.readyWork.add('broadcasts')
      }
    },
  }
  return table
}

function insertResponse(
  batch: Batch,
  { answer, response }: PartialAnswerDraft,
  place: PartialAnswerPosition,
  { responses, blobs, threads }: Pick<PartialAnswerDeps, 'responses' | 'blobs' | 'threads'>,
): number {
  const { message, thread, owner } = place
  const seq = responses.insert(place, response)
  const { blobs: newBlobs = [], aliases = [] } = answer
  const blobBytes = newBlobs.length > 0 ? blobs.keepAll(newBlobs, message) : 0
  if (owner !== undefined) addTaskBytes(batch, owner, Buffer.byteLength(response.content) + blobBytes)
  threads.addAnswerNames(thread, { message, id: response.id, aliases })
  return seq
}

export function draftPartialAnswer(answer: Answer, response: NormalizedResponse): PartialAnswerDraft {
  return { answer, response: draftResponse(response, answer) }
}
