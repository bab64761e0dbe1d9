import type { ByteStore, Log, NoticeStore, ObjectStore, Store } from '@postern/core'
import { createObjectStore } from './blobs/objects.ts'
import type { StoredChannel } from './channels/facts.ts'
import { readChannelFacts } from './channels/facts.ts'
import type { BlobFiles } from './engine/blob-files.ts'
import type { Batch, Database } from './engine/database.ts'
import { beginWork, sqlOf, undoWork } from './engine/database.ts'
import type { StoreContext } from './engine/store-context.ts'
import type { Writer, WriterHooks } from './engine/writer.ts'
import type { ChatForgetting } from './forgetting/chat.ts'
import { createChatForgetting } from './forgetting/chat.ts'
import type { OwnerForgetting } from './forgetting/owner.ts'
import { createOwnerForgetting } from './forgetting/owner.ts'
import { createWithdrawalStore } from './forgetting/withdrawals.ts'
import { createAdmission } from './intake/admission.ts'
import { createLookupStore } from './lookup.ts'
import { createFirstMessages } from './messages/table.ts'
import type { Refusals } from './operator/refusals.ts'
import { createRefusals } from './operator/refusals.ts'
import { createOperatorStore } from './operator/store.ts'
import { createWhyStore } from './operator/why/store.ts'
import { createWriteCheck } from './operator/write-check.ts'
import { createOnceStore } from './peers/once.ts'
import { createRelationStore } from './peers/senders.ts'
import { createPeopleStore } from './people/store.ts'
import type { LookupLog } from './replay/lookups.ts'
import { createArrivalLookup, createLookups } from './replay/lookups.ts'
import { createOverdueStore } from './requirements/overdue.ts'
import { createRequirementStore } from './requirements/store.ts'
import { createResolutionPlan } from './requirements/table.ts'
import { createTables } from './tables.ts'
import { createTaskStore } from './tasks/store.ts'
import type { StoreTranscript } from './transcript/open.ts'
import { createSqliteTranscript } from './transcript/open.ts'
import type { OwnedRecordStore } from './transcript/records/store.ts'
import { createRecordStore } from './transcript/records/store.ts'
import { createTurnOffer } from './turns/turn-offer.ts'
import { createWorkStore } from './work/store.ts'

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
  openWriter(hooks: WriterHooks): Writer
  readonly files: BlobFiles
  readonly notices: NoticeStore
  readonly now: () => number
  readonly channels: readonly StoredChannel[]
  /** Nobody else writes the database. */
  readonly isAlone: boolean
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
  const db = sqlOf(parts.db)
  const { openWriter, files, notices, now, log, bytes, isAlone, onDurable, scrub = () => {}, rewrite, release } = parts
  const firstMessages = createFirstMessages()
  const turnOffer = createTurnOffer({ db, now, isAlone })
  const writer = openWriter(createHooks({ firstMessages, onDurable }))
  const { write, writeLightly, writeLast } = writer
  const channels = readChannelFacts(parts.channels)
  const context: StoreContext = { db, channels, write, writeLightly, writeLast, now, log, files, isAlone, scrub }
  const tables = createTables({ ...context, firstMessages, turnOffer })
  const places = {
    transcript: createSqliteTranscript(context, tables),
    objects: createObjectStore(context, bytes),
    records: createRecordStore(context),
  }
  const refusals = createRefusals(context)
  const { flush: flushLookups, ...lookups } = createLookups(context, tables.lookups)
  const { admitNew, ...admission } = createAdmission(context, tables)
  const planResolution = createResolutionPlan(context, tables)
  return {
    ...admission,
    ...createRequirementStore(context, tables, { admitNew, planResolution }),
    ...createOverdueStore(context, { requirements: tables.requirements, planResolution, admitNew }),
    refuse: refusals.refuse,
    ...lookups,
    ...createArrivalLookup(db, files),
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
    ...createWhyStore(context, refusals),
    ...notices,
    ...places,
    checkWrites: createWriteCheck(context),
    async rewriteFiles() {
      rewrite?.()
    },
    close: createClosing({ writer, refusals, flushLookups, release }),
  }
}

interface HookDeps extends Pick<StoreDeps, 'onDurable'> {
  readonly firstMessages: ReturnType<typeof createFirstMessages>
}

function createHooks({ firstMessages, onDurable }: HookDeps): WriterHooks {
  return {
    // Committed, a message has its number for good, and a turn its lease.
    onCommitted: batch => firstMessages.keep(batch.firstMessages),
    onUndone: undoWork,
    // A notice may be about a turn that begins: whoever runs it has to hear of it.
    onDurable(batch) {
      beginWork(batch)
      onDurable(batch)
    },
  }
}

interface Closing extends Pick<StoreDeps, 'release'> {
  readonly writer: Writer
  readonly refusals: Refusals
  readonly flushLookups: LookupLog['flush']
}

/** What is waiting is written first; to close again waits for the same end. */
function createClosing({ writer, refusals, flushLookups, release }: Closing): () => Promise<void> {
  let closed: Promise<void> | undefined
  const closeAll = async () => {
    const flushed = Promise.all([refusals.flush(), flushLookups()])
    await Promise.all([writer.close(), flushed])
    await release()
  }
  return () => {
    closed ??= closeAll()
    return closed
  }
}
