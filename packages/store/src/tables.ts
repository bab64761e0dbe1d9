import type { BlobTable } from './blobs/table.ts'
import { createBlobTable } from './blobs/table.ts'
import type { ChannelFacts } from './channels/facts.ts'
import type { EntryTable } from './conversations/entries.ts'
import { createEntryTable } from './conversations/entries.ts'
import type { ThreadTable } from './conversations/threads.ts'
import { createThreadTable } from './conversations/threads.ts'
import type { DeliveryOffer, DeliveryTable } from './deliveries/queue.ts'
import { createDeliveryOffer, createDeliveryTable } from './deliveries/queue.ts'
import type { BlobFiles } from './engine/blob-files.ts'
import type { Ownership, Sql } from './engine/database.ts'
import type { ForgetMessage } from './forgetting/forget.ts'
import { createForget } from './forgetting/forget.ts'
import type { EditTable } from './intake/effects.ts'
import { createEditTable } from './intake/effects.ts'
import type { BudgetTable, QuotaTable } from './intake/look-up.ts'
import { createBudgetTable, createQuotaTable } from './intake/look-up.ts'
import type { ResponseTable } from './messages/responses.ts'
import { createResponseTable } from './messages/responses.ts'
import type { FirstMessages, ReadMessage } from './messages/table.ts'
import { createMessageReader } from './messages/table.ts'
import type { ProofKeyTable, RelationTable, WithdrawalTable } from './peers/senders.ts'
import { createProofKeyTable, createRelationTable, createWithdrawalTable } from './peers/senders.ts'
import type { LookupTable } from './replay/lookups.ts'
import { createLookupTable } from './replay/lookups.ts'
import type { RequirementTable } from './requirements/table.ts'
import { createRequirementTable } from './requirements/table.ts'
import type { TaskTable } from './tasks/table.ts'
import { createTaskTable } from './tasks/table.ts'
import type { WatchTable } from './tasks/watches.ts'
import { createWatchTable } from './tasks/watches.ts'
import type { NoteTable } from './turns/note-table.ts'
import { createNoteTable } from './turns/note-table.ts'
import type { TurnTable } from './turns/table.ts'
import { createTurnTable } from './turns/table.ts'
import type { TurnOffer } from './turns/turn-offer.ts'
import type { PartialAnswerTable } from './work/commit.ts'
import { createPartialAnswerTable } from './work/commit.ts'

/** The tables that several stores write to, each with its rules. Synchronous: they run inside a write. */
export interface Tables {
  readonly channels: ChannelFacts
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
  readonly proofKeys: ProofKeyTable
  readonly lookups: LookupTable
  readonly readMessage: ReadMessage
  readonly firstMessages: FirstMessages
  readonly turnOffer: TurnOffer
  readonly deliveryOffer: DeliveryOffer
  readonly forget: ForgetMessage
}

interface TablesDeps extends Ownership {
  readonly db: Sql
  readonly files: BlobFiles
  readonly channels: ChannelFacts
  readonly firstMessages: FirstMessages
  readonly turnOffer: TurnOffer
}

export function createTables({ db, files, channels, firstMessages, turnOffer, ...ownership }: TablesDeps): Tables {
  const relations = createRelationTable(db, ownership)
  const entries = createEntryTable(db)
  const deliveryOffer = createDeliveryOffer(db, ownership)
  const parts = {
    entries,
    notes: createNoteTable(db, { entries }),
    blobs: createBlobTable(db, files),
    turns: createTurnTable(db),
    deliveries: createDeliveryTable(db, { relations, deliveryOffer }),
    responses: createResponseTable(db),
    threads: createThreadTable(db),
  }
  return {
    channels,
    ...parts,
    edits: createEditTable(db, parts),
    requirements: createRequirementTable(db),
    relations,
    tasks: createTaskTable(db),
    watches: createWatchTable(db, parts.deliveries),
    partialAnswers: createPartialAnswerTable(db, parts),
    quotas: createQuotaTable(db),
    budgets: createBudgetTable(db),
    withdrawals: createWithdrawalTable(db, ownership),
    proofKeys: createProofKeyTable(db),
    lookups: createLookupTable(db),
    readMessage: createMessageReader(db, files),
    firstMessages,
    turnOffer,
    deliveryOffer,
    forget: createForget(db, parts),
  }
}
