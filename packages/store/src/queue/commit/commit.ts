// Commits the answer of a turn.

import { StateChanged } from '@postern/message'
import type { Answer, Blob, Turn, WorkStore } from '@postern/pipeline'
import type { NoteTable } from '../../messages/notes.ts'
import type { AnswerPosition } from '../../messages/responses.ts'
import { findStoredReader } from '../../messages/stored-reader.ts'
import type { RequirementTable } from '../../requirements/requirement-table.ts'
import type { Operation } from '../../sql/operation.ts'
import type { TaskTable } from '../../tasks/task-table.ts'
import type { WatchTable } from '../../tasks/watches.ts'
import type { Batch } from '../../transaction/batch.ts'
import { noteChange } from '../../transaction/notices.ts'
import type { StoreContext } from '../../transaction/store-context.ts'
import { refuseLostLease } from '../lost-lease.ts'
import type { InProcessTurns } from '../turns/in-process-turns.ts'
import type { TurnTable } from '../turns/turn-table.ts'
import type { ActionWriter } from './action-draft.ts'
import { listActionBlobs } from './action-draft.ts'
import type { AnswerColumns } from './answer-draft.ts'
import { draftAnswer, listAnswerBlobs } from './answer-draft.ts'
import { listCommitConflicts, mayJoinAdmission } from './commit-conflicts.ts'
import type { TurnRow } from './end-turn.ts'
import { createTurnEnding, notifySettled } from './end-turn.ts'
import { createTaskFinishing, finishMergedTasks } from './finish-task.ts'
import type { PartialAnswerDraft, PartialAnswerTable } from './partial-answers.ts'
import { draftPartialAnswer } from './partial-answers.ts'
import type { PersonalWriter } from './personal-state.ts'
import { createPersonalWriter } from './personal-state.ts'

/** The tables to which a commit writes. */
export interface TurnCommitDeps {
  readonly turns: TurnTable
  readonly partialAnswers: PartialAnswerTable
  readonly notes: NoteTable
  readonly requirements: RequirementTable
  readonly tasks: TaskTable
  readonly watches: WatchTable
  readonly inProcessTurns: Pick<InProcessTurns, 'continuedTurns'>
}

export function createCommit(
  { db, write, now, files }: StoreContext,
  tables: TurnCommitDeps,
  actions: ActionWriter,
): Pick<WorkStore, 'commit' | 'storeInterimAnswer' | 'storeActions'> {
  const findLeasedTurn = db.prepare<TurnRow>(
    'SELECT thread_id, task_id FROM turns WHERE message = ? AND lease_token = ? AND lease_owner IS NOT NULL',
  )
  const personalWriter = createPersonalWriter(db)
  const commitDraft = createDraftCommit({ db, now, personal: personalWriter }, tables, actions.write)
  function* isCurrent(batch: Batch, turn: Turn, { personState }: Answer) {
    return personState === undefined || (yield* personalWriter.isCurrent(batch, turn, personState))
  }

  /** Writes rows after their large blobs are on disk. */
  function writeWithBlobs<T>(blobs: readonly Blob[], writeRows: () => Promise<T>): Promise<T> {
    return blobs.length > 0 ? files.retainDuring(blobs, writeRows) : writeRows()
  }

  function* storePartialAnswer(batch: Batch, turn: Turn, draft: PartialAnswerDraft): Operation<number> {
    const row = yield* findLeasedTurn.get(turn.message, turn.token)
    if (!row) return 0
    yield* tables.partialAnswers.storeAnswer(batch, draft, draft.answer, toPosition(turn, row, now()))
    return 1
  }

  return {
    async commit(turn, answer) {
      const draft = draftAnswer(answer, turn.content.recipient, actions)
      function* writeRows(batch: Batch) {
        return (yield* isCurrent(batch, turn, answer)) ? yield* commitDraft(batch, turn, draft) : 'changed'
      }
      const conflictKeys = () => listCommitConflicts(turn, answer)
      const { continuedTurns } = tables.inProcessTurns
      const joinedCommit = mayJoinAdmission(turn, answer) ? continuedTurns.storeWithMessage(turn, writeRows) : undefined
      const outcome = await (joinedCommit ??
        continuedTurns.runWhenStored(turn, () =>
          writeWithBlobs(listAnswerBlobs(answer), () => write(writeRows, { conflictKeys })),
        ))
      if (outcome === 'changed') throw new StateChanged(`the person of turn ${turn.message} has another state by now`)
      refuseLostLease(outcome === 'committed' ? 1 : 0, `turn ${turn.message}`)
    },
    async storeInterimAnswer(turn, answer) {
      const draft = draftPartialAnswer(answer, answer.response)
      const changes = await writeWithBlobs(listAnswerBlobs(answer), () =>
        write(batch => storePartialAnswer(batch, turn, draft), {
          conflictKeys: () => listCommitConflicts(turn, answer),
        }),
      )
      refuseLostLease(changes, `turn ${turn.message}`)
    },
    async storeActions(acts, correlationId) {
      const drafts = acts.map(actions.draft)
      function* writeAll(batch: Batch) {
        for (const draft of drafts) yield* actions.write(batch, draft, correlationId, now())
      }
      await writeWithBlobs(acts.flatMap(listActionBlobs), () => write(writeAll))
    },
  }
}

/** The result of a commit. Nothing is written unless it is `committed`. */
type CommitOutcome = 'committed' | 'lost' | 'changed'

type CommitDraft = (batch: Batch, turn: Turn, draft: AnswerColumns) => Operation<CommitOutcome>

function createDraftCommit(
  { db, now, personal }: Pick<StoreContext, 'db' | 'now'> & { readonly personal: PersonalWriter },
  tables: TurnCommitDeps,
  writeAction: ActionWriter['write'],
): CommitDraft {
  const endTurn = createTurnEnding(db)
  const writeState = db.prepare(
    `INSERT INTO agent_states (thread_id, agent, state, scope) SELECT ?1, ?2, ?3, scope FROM threads WHERE id = ?1
     ON CONFLICT (thread_id, agent) DO UPDATE SET state = excluded.state`,
  )
  const finishTask = createTaskFinishing(db, tables)
  return function* (batch, turn, draft) {
    const at = now()
    const endedTurn = yield* endTurn(batch, turn, draft, at)
    if (!endedTurn) return 'lost'
    const position = toPosition(turn, endedTurn, at)
    const { answer } = draft
    yield* storeNotes(tables.notes, batch, draft, position)
    const response = yield* tables.partialAnswers.storeAnswer(batch, draft.partialAnswer, answer, position)
    if (answer.requirements?.length) {
      yield* tables.requirements.issue(batch, answer.requirements, position)
      noteChange(batch, 'requirement', position.message)
    }
    if (draft.agentState !== undefined) writeState.run(position.thread, turn.agent, draft.agentState)
    if (answer.personState || answer.isGatewayReply) personal.write(turn, position.thread, answer)
    for (const act of draft.acts) yield* writeAction(batch, act, turn.correlationId, at)
    const taskEnd = { ...position, response }
    const readTask = yield* finishTask(batch, draft, { ...taskEnd, isWatched: endedTurn.is_watched === 1 })
    yield* finishMergedTasks(batch, draft, { ...taskEnd, merged: endedTurn.merged }, tables)
    if (endedTurn.is_awaited) yield* tables.turns.promoteNext(batch, position.thread, at)
    notifySettled(batch, turn, { state: draft.state, merged: endedTurn.merged, readTask })
    return 'committed'
  }
}

function* storeNotes(
  table: NoteTable,
  batch: Batch,
  { notes, answer }: AnswerColumns,
  position: AnswerPosition,
): Operation<void> {
  if (notes.length > 0) yield* table.upsert(batch, notes, position)
  if (answer.noteCount !== undefined) yield* table.deleteBeyond(batch, answer.noteCount, position)
}

function toPosition(turn: Turn, { thread_id, task_id }: TurnRow, at: number) {
  const { message, agent, via, task, content, correlationId } = turn
  const position = { message, agent, channel: via, thread: thread_id, task: task_id ?? undefined }
  const readMessage = findStoredReader(content)
  return { ...position, owner: task?.owner, now: at, answeredMessage: readMessage && { readMessage, correlationId } }
}
