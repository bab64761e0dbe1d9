// Creates the tables that several stores share.
import type { BlobTable } from './blobs/blob-table.ts'
import { createBlobTable } from './blobs/blob-table.ts'
import type { ChannelFacts } from './channels/channel-facts.ts'
import type { BlobFiles } from './files/blob-files.ts'
import type { ForgetMessage } from './forgetting/forget-message.ts'
import { createForget } from './forgetting/forget-message.ts'
import type { BudgetTable } from './intake/budgets.ts'
import { createBudgetTable } from './intake/budgets.ts'
import type { EditTable } from './intake/edits.ts'
import { createEditTable } from './intake/edits.ts'
import type { QuotaTable } from './intake/quotas.ts'
import { createQuotaTable } from './intake/quotas.ts'
import type { FirstMessages } from './messages/first-messages.ts'
import type { NoteTable } from './messages/notes.ts'
import { createNoteTable } from './messages/notes.ts'
import type { ReadMessage } from './messages/read-message.ts'
import { createMessageReader } from './messages/read-message.ts'
import type { ResponseTable } from './messages/responses.ts'
import { createResponseTable } from './messages/responses.ts'
import type { HandledKeyTable } from './peers/handled-keys.ts'
import { createHandledKeyTable } from './peers/handled-keys.ts'
import type { ProofKeyTable } from './peers/proof-keys.ts'
import { createProofKeyTable } from './peers/proof-keys.ts'
import type { RelationTable } from './peers/relations.ts'
import { createRelationTable } from './peers/relations.ts'
import type { WithdrawalTable } from './peers/withdrawals.ts'
import { createWithdrawalTable } from './peers/withdrawals.ts'
import type { PartialAnswerTable } from './queue/commit/partial-answers.ts'
import { createPartialAnswerTable } from './queue/commit/partial-answers.ts'
import type { DeliveryTable } from './queue/deliveries/delivery-table.ts'
import { createDeliveryTable } from './queue/deliveries/delivery-table.ts'
import type { InProcessDeliveries } from './queue/deliveries/in-process-deliveries.ts'
import { createInProcessDeliveries } from './queue/deliveries/in-process-deliveries.ts'
import type { InProcessTurns } from './queue/turns/in-process-turns.ts'
import type { TurnTable } from './queue/turns/turn-table.ts'
import { createTurnTable } from './queue/turns/turn-table.ts'
import type { RecordedFetchTable } from './replay/recorded-fetches.ts'
import { createRecordedFetchTable } from './replay/recorded-fetches.ts'
import type { RequirementTable } from './requirements/requirement-table.ts'
import { createRequirementTable } from './requirements/requirement-table.ts'
import type { WriterExclusivity } from './sql/ownership.ts'
import type { Sql } from './sql/sql.ts'
import type { TaskCancel } from './tasks/cancel-task.ts'
import { createTaskCancel } from './tasks/cancel-task.ts'
import type { TaskTable } from './tasks/task-table.ts'
import { createTaskTable } from './tasks/task-table.ts'
import type { WatchTable } from './tasks/watches.ts'
import { createWatchTable } from './tasks/watches.ts'
import type { EntryTable } from './threads/entries.ts'
import { createEntryTable } from './threads/entries.ts'
import type { ThreadTable } from './threads/threads.ts'
import { createThreadTable } from './threads/threads.ts'

/** The tables that several stores share. Their members are operations of a write. */
export interface Tables {
  readonly channels: ChannelFacts
  readonly threads: ThreadTable
  readonly entries: EntryTable
  readonly blobs: BlobTable
  readonly tasks: TaskTable
  readonly watches: WatchTable
  readonly taskCancel: TaskCancel
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
  readonly proofKeys: ProofKeyTable
  readonly handledKeys: HandledKeyTable
  readonly lookups: RecordedFetchTable
  readonly readMessage: ReadMessage
  readonly firstMessages: FirstMessages
  readonly inProcessTurns: InProcessTurns
  readonly inProcessDeliveries: InProcessDeliveries
  readonly forget: ForgetMessage
}

interface TablesDeps extends WriterExclusivity {
  readonly db: Sql
  readonly files: BlobFiles
  readonly channels: ChannelFacts
  readonly handledSecret: string
  readonly firstMessages: FirstMessages
  readonly inProcessTurns: InProcessTurns
}

export function createTables({
  db,
  files,
  channels,
  handledSecret,
  firstMessages,
  inProcessTurns,
  ...ownership
}: TablesDeps): Tables {
  const relations = createRelationTable(db, ownership)
  const entries = createEntryTable(db)
  const inProcessDeliveries = createInProcessDeliveries(db, ownership)
  const deliveries = createDeliveryTable(db, { relations, inProcessDeliveries })
  const watches = createWatchTable(db, deliveries)
  const taskCancel = createTaskCancel(db, watches)
  const messageTables = {
    notes: createNoteTable(db, { entries }),
    blobs: createBlobTable(db, files),
    deliveries,
    responses: createResponseTable(db),
    threads: createThreadTable(db),
  }
  const partialAnswers = createPartialAnswerTable(db, messageTables)
  const { withdrawInterim } = partialAnswers
  const turns = createTurnTable(db, { cancelTaskUnlessOpen: taskCancel.cancelUnlessOpen, withdrawInterim })
  const tables = { entries, turns, ...messageTables }
  return {
    channels,
    ...tables,
    edits: createEditTable(db, tables),
    requirements: createRequirementTable(db, { taskCancel }),
    relations,
    tasks: createTaskTable(db),
    watches,
    taskCancel,
    partialAnswers,
    quotas: createQuotaTable(db),
    budgets: createBudgetTable(db),
    withdrawals: createWithdrawalTable(db, ownership),
    proofKeys: createProofKeyTable(db),
    handledKeys: createHandledKeyTable(db, { channels, handledSecret }),
    lookups: createRecordedFetchTable(db),
    readMessage: createMessageReader(db, files),
    firstMessages,
    inProcessTurns,
    inProcessDeliveries,
    forget: createForget(db, tables),
  }
}
