import type { ByteStore, Log, NoticeStore, ObjectStore, Store } from '@postern/core'
import type { Batch } from './batch.ts'
import type { BlobFiles } from './blob-files.ts'
import type { ChatForgetting } from './chat-forgetting.ts'
import { createChatForgetting } from './chat-forgetting.ts'
import type { Database } from './database.ts'
import { createAdmission } from './intake.ts'
import { createLookupStore } from './lookup.ts'
import { createObjectStore } from './objects.ts'
import { createOnceStore } from './once.ts'
import { createOperatorStore } from './operator.ts'
import { createOverdueStore } from './overdue-requirements.ts'
import type { OwnerForgetting } from './owner-forgetting.ts'
import { createOwnerForgetting } from './owner-forgetting.ts'
import { createPeopleStore } from './people.ts'
import { createRefusals } from './refusals.ts'
import { createRelationStore } from './relations.ts'
import { createRequirementStore } from './requirement-store.ts'
import { createResolutionPlan } from './resolution-plan.ts'
import type { StoreContext } from './store-context.ts'
import { createTables } from './tables.ts'
import { createTaskStore } from './tasks.ts'
import type { Transactions } from './transactions.ts'
import type { StoreTranscript } from './transcript/open-transcript.ts'
import { createSqliteTranscript } from './transcript/open-transcript.ts'
import type { OwnedRecordStore } from './transcript/record-store.ts'
import { createRecordStore } from './transcript/record-store.ts'
import { createWithdrawalStore } from './withdrawals.ts'
import { createWorkStore } from './work.ts'
import { createWriteCheck } from './write-check.ts'
import { createWriter } from './writer.ts'

/** The store, and the conversations as dialects read and write them, in one place. */
export interface GatewayStore extends Store, OwnerForgetting, ChatForgetting {
  readonly transcript: StoreTranscript
  readonly objects: ObjectStore
  readonly records: OwnedRecordStore
  /** Nothing is left of what was deleted, in no unused room of a file. As long as it takes nothing else is done. */
  rewriteFiles(): Promise<void>
  /** Writes what means nothing. @throws Unavailable */
  checkWrites(): Promise<void>
}

/** What a store is made of, whatever the engine. */
interface StoreDeps {
  readonly db: Database
  readonly transactions: Transactions
  readonly files: BlobFiles
  readonly notices: NoticeStore
  readonly now: () => number
  readonly log: Log
  readonly bytes: ByteStore | undefined
  /** Something was written for good. */
  onDurable(batch: Batch): void
  /** As `Store.scrub`, where the engine keeps old pages that can be told to go. */
  readonly scrub?: (() => void) | undefined
  /** Writes all files anew, where that takes out what is left of deleted rows. */
  readonly rewrite?: (() => void) | undefined
  /** Lets go of the engine, at the end. */
  release(): Promise<void> | void
}

export function assembleStore(parts: StoreDeps): GatewayStore {
  const { db, transactions, files, notices, now, log, bytes, onDurable, scrub = () => {}, rewrite, release } = parts
  const writer = createWriter(db, onDurable, transactions)
  const { write, writeLightly, writeLast } = writer
  const context: StoreContext = { db, write, writeLightly, writeLast, now, log, files, scrub }
  const tables = createTables(db, files)
  const places = {
    transcript: createSqliteTranscript(context, tables),
    objects: createObjectStore(context, bytes),
    records: createRecordStore(context),
  }
  const refusals = createRefusals(context)
  const { admitNew, ...admission } = createAdmission(context, tables)
  const closeAll = async () => {
    const flushed = refusals.flush()
    await Promise.all([writer.close(), flushed])
    db.close()
    await release()
  }
  let closed: Promise<void> | undefined
  const planResolution = createResolutionPlan(context, tables)
  return {
    ...admission,
    ...createRequirementStore(context, tables, { admitNew, planResolution }),
    ...createOverdueStore(context, { requirements: tables.requirements, planResolution, admitNew }),
    refuse: refusals.refuse,
    ...createWorkStore(context, tables),
    ...createLookupStore(context, tables),
    ...createTaskStore(context, tables),
    ...createOnceStore(context),
    ...createRelationStore(context),
    ...createPeopleStore(context, tables, places),
    ...createOwnerForgetting(context, tables),
    ...createChatForgetting(context, tables, bytes),
    ...createWithdrawalStore(context, tables),
    ...createOperatorStore(context, tables, refusals),
    ...notices,
    ...places,
    checkWrites: createWriteCheck(context),
    async rewriteFiles() {
      rewrite?.()
    },
    close() {
      closed ??= closeAll()
      return closed
    },
  }
}
