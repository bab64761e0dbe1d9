import type { BlobFiles } from './blob-files.ts'
import type { BlobTable } from './blobs.ts'
import { createBlobTable } from './blobs.ts'
import type { BudgetTable } from './budgets.ts'
import { createBudgetTable } from './budgets.ts'
import type { Database } from './database.ts'
import type { DeliveryTable } from './delivery-table.ts'
import { createDeliveryTable } from './delivery-table.ts'
import type { EditTable } from './edits.ts'
import { createEditTable } from './edits.ts'
import type { EntryTable } from './entries.ts'
import { createEntryTable } from './entries.ts'
import type { ForgetMessage } from './forget.ts'
import { createForget } from './forget.ts'
import type { ReadMessage } from './messages.ts'
import { createMessageReader } from './messages.ts'
import type { NoteTable } from './note-table.ts'
import { createNoteTable } from './note-table.ts'
import type { PartialAnswerTable } from './partial-answers.ts'
import { createPartialAnswerTable } from './partial-answers.ts'
import type { QuotaTable } from './quotas.ts'
import { createQuotaTable } from './quotas.ts'
import type { RelationTable } from './relations.ts'
import { createRelationTable } from './relations.ts'
import type { RequirementTable } from './requirements.ts'
import { createRequirementTable } from './requirements.ts'
import type { ResponseTable } from './responses.ts'
import { createResponseTable } from './responses.ts'
import type { TaskTable } from './task-table.ts'
import { createTaskTable } from './task-table.ts'
import type { ThreadTable } from './threads.ts'
import { createThreadTable } from './threads.ts'
import type { TurnTable } from './turn-table.ts'
import { createTurnTable } from './turn-table.ts'
import type { WatchTable } from './watches.ts'
import { createWatchTable } from './watches.ts'
import type { WithdrawalTable } from './withdrawal-table.ts'
import { createWithdrawalTable } from './withdrawal-table.ts'

/** The tables that several desks write to, each with its rules. Synchronous: they run inside a write. */
export interface Tables {
  readonly threads: ThreadTable
  readonly entries: EntryTable
  readonly blobs: BlobTable
  readonly tasks: TaskTable
  readonly watches: WatchTable
  readonly turns: TurnTable
  readonly edits: EditTable
  readonly notes: NoteTable
  readonly requirements: RequirementTable
  readonly deliveries: DeliveryTable
  readonly responses: ResponseTable
  readonly partialAnswers: PartialAnswerTable
  readonly relations: RelationTable
  readonly quotas: QuotaTable
  readonly budgets: BudgetTable
  readonly withdrawals: WithdrawalTable
  readonly readMessage: ReadMessage
  readonly forget: ForgetMessage
}

export function createTables(db: Database, files: BlobFiles): Tables {
  const relations = createRelationTable(db)
  const entries = createEntryTable(db)
  const parts = {
    entries,
    notes: createNoteTable(db, { entries }),
    blobs: createBlobTable(db, files),
    turns: createTurnTable(db),
    deliveries: createDeliveryTable(db, relations),
    responses: createResponseTable(db),
    threads: createThreadTable(db),
  }
  return {
    ...parts,
    edits: createEditTable(db, parts),
    requirements: createRequirementTable(db),
    relations,
    tasks: createTaskTable(db),
    watches: createWatchTable(db, parts.deliveries),
    partialAnswers: createPartialAnswerTable(db, parts),
    quotas: createQuotaTable(db),
    budgets: createBudgetTable(db),
    withdrawals: createWithdrawalTable(db),
    readMessage: createMessageReader(db, files),
    forget: createForget(db, parts),
  }
}
