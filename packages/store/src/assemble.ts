import type { ByteStore, Desk, Log, NoticeDesk, ObjectStore } from '@postern/core'
import type { Batch } from './batch.ts'
import type { BlobFiles } from './blob-files.ts'
import type { ChatForgetting } from './chat-forgetting.ts'
import { createChatForgetting } from './chat-forgetting.ts'
import type { Database } from './database.ts'
import { createDemandDesk } from './demand-desk.ts'
import { createAdmission } from './intake.ts'
import { createLookupDesk } from './lookup.ts'
import { createObjectStore } from './objects.ts'
import { createOnceDesk } from './once.ts'
import { createOperatorDesk } from './operator.ts'
import { createOverdueDesk } from './overdue-demands.ts'
import type { OwnerForgetting } from './owner-forgetting.ts'
import { createOwnerForgetting } from './owner-forgetting.ts'
import { createPeopleDesk } from './people.ts'
import { createRefusals } from './refusals.ts'
import { createRelationDesk } from './relations.ts'
import { createResolutionPlan } from './resolution-plan.ts'
import type { Store } from './store.ts'
import { createTables } from './tables.ts'
import { createTaskDesk } from './tasks.ts'
import type { Transactions } from './transactions.ts'
import type { DeskTranscript } from './transcript/open-transcript.ts'
import { createSqliteTranscript } from './transcript/open-transcript.ts'
import type { OwnedShelf } from './transcript/record-shelf.ts'
import { createRecordShelf } from './transcript/record-shelf.ts'
import { createWithdrawalDesk } from './withdrawals.ts'
import { createWorkDesk } from './work.ts'
import { createWriteCheck } from './write-check.ts'
import { createWriter } from './writer.ts'

/** The desk, and the conversations as dialects read and write them, in one place. */
export interface StoreDesk extends Desk, OwnerForgetting, ChatForgetting {
  readonly transcript: DeskTranscript
  readonly objects: ObjectStore
  readonly shelf: OwnedShelf
  /** Nothing is left of what was deleted, in no unused room of a file. As long as it takes nothing else is done. */
  rewriteFiles(): Promise<void>
  /** Writes what means nothing. @throws Unavailable */
  checkWrites(): Promise<void>
}

/** What a desk is made of, whatever the engine. */
export interface DeskParts {
  readonly db: Database
  readonly transactions: Transactions
  readonly files: BlobFiles
  readonly notices: NoticeDesk
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

export function assembleDesk(parts: DeskParts): StoreDesk {
  const { db, transactions, files, notices, now, log, bytes, onDurable, scrub = () => {}, rewrite, release } = parts
  const writer = createWriter(db, onDurable, transactions)
  const { write, writeLightly, writeLast } = writer
  const store: Store = { db, write, writeLightly, writeLast, now, log, files, scrub }
  const tables = createTables(db, files)
  const places = {
    transcript: createSqliteTranscript(store, tables),
    objects: createObjectStore(store, bytes),
    shelf: createRecordShelf(store),
  }
  const refusals = createRefusals(store)
  const { admitNew, ...admission } = createAdmission(store, tables)
  const closeAll = async () => {
    const flushed = refusals.flush()
    await Promise.all([writer.close(), flushed])
    db.close()
    await release()
  }
  let closed: Promise<void> | undefined
  const planResolution = createResolutionPlan(store, tables)
  return {
    ...admission,
    ...createDemandDesk(store, tables, { admitNew, planResolution }),
    ...createOverdueDesk(store, { demands: tables.demands, planResolution, admitNew }),
    refuse: refusals.refuse,
    ...createWorkDesk(store, tables),
    ...createLookupDesk(store, tables),
    ...createTaskDesk(store, tables),
    ...createOnceDesk(store),
    ...createRelationDesk(store),
    ...createPeopleDesk(store, tables, places),
    ...createOwnerForgetting(store, tables),
    ...createChatForgetting(store, tables, bytes),
    ...createWithdrawalDesk(store, tables),
    ...createOperatorDesk(store, tables, refusals),
    ...notices,
    ...places,
    checkWrites: createWriteCheck(store),
    async rewriteFiles() {
      rewrite?.()
    },
    close() {
      closed ??= closeAll()
      return closed
    },
  }
}
