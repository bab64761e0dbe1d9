// Assembles the store of a gateway from its tables, for any database engine.
import type { ByteStore, Log, ObjectStore } from '@postern/message'
import type { NoticeStore, SecretStore, Store } from '@postern/pipeline'
import { createObjectStore } from './blobs/object-store.ts'
import type { StoredChannel } from './channels/channel-facts.ts'
import { readChannelFacts } from './channels/channel-facts.ts'
import type { BlobFiles } from './files/blob-files.ts'
import type { ChatForgetting } from './forgetting/forget-chat.ts'
import { createChatForgetter } from './forgetting/forget-chat.ts'
import type { OwnerForgetting } from './forgetting/forget-owner.ts'
import { createOwnerForgetter } from './forgetting/forget-owner.ts'
import { createWithdrawalStore } from './forgetting/withdrawal-store.ts'
import { createAdmission } from './intake/admission.ts'
import { createFirstMessages } from './messages/first-messages.ts'
import { createOperatorStore } from './operator/operator-store.ts'
import type { Refusals } from './operator/refusals.ts'
import { createRefusals } from './operator/refusals.ts'
import { createWhyStore } from './operator/why/why-store.ts'
import { createWorkCheck } from './operator/work-check.ts'
import { createRelationStore } from './peers/relation-store.ts'
import { createSingleUseStore } from './peers/single-use.ts'
import type { KnownPeopleReader } from './people/known-people.ts'
import { createKnownPeopleReader } from './people/known-people.ts'
import { createPeopleStore } from './people/people-store.ts'
import { createWorkStore } from './queue/commit/work-store.ts'
import { createInProcessTurns } from './queue/turns/in-process-turns.ts'
import type { FetchLog } from './replay/recorded-fetches.ts'
import { createArrivalLookup, createRecordedFetches } from './replay/recorded-fetches.ts'
import { createOverdueStore } from './requirements/overdue-requirements.ts'
import { createRequirementStore } from './requirements/requirement-store.ts'
import { createResolutionPlan } from './requirements/requirement-table.ts'
import type { Pruning } from './retention/prune.ts'
import { createPruner } from './retention/prune.ts'
import { createSecretRings } from './secret-rings.ts'
import type { Sql } from './sql/sql.ts'
import { createLookupStore } from './store-queries.ts'
import { createTables } from './tables.ts'
import { createTaskStore } from './tasks/task-store.ts'
import type { Batch } from './transaction/batch.ts'
import { beginWork, undoWork } from './transaction/batch.ts'
import type { StoreContext } from './transaction/store-context.ts'
import type { Writer, WriterHooks } from './transaction/writer.ts'
import type { OwnedRecordStore } from './transcript/records/record-store.ts'
import { createRecordStore } from './transcript/records/record-store.ts'
import type { StoreTranscript } from './transcript/transcript-store.ts'
import { createSqliteTranscript } from './transcript/transcript-store.ts'

/** Members of the store for the transcript, and members that only the gateway itself uses. */
interface GatewayMembers extends OwnerForgetting, ChatForgetting, Pruning, KnownPeopleReader {
  readonly transcript: StoreTranscript
  readonly objects: ObjectStore
  readonly records: OwnedRecordStore
  /** Rewrites all files, so that no unused page has deleted data. Nothing else runs at the same time. */
  rewriteFiles(): Promise<void>
  /** Writes a row that only tests the database, and reads it back as callers read. @throws Unavailable */
  checkWork(): Promise<void>
}

/** The whole store of a gateway. */
export interface GatewayStore extends Store, GatewayMembers {
  /** The same store for operators, whose long queries do not delay callers. */
  readonly forOperators: Omit<GatewayStore, 'forOperators'>
}

/** The store as an engine opens it. `completeStore` adds the secrets by purpose, because they call this store. */
export interface AssembledStore extends Omit<Store, keyof SecretStore>, GatewayMembers {
  readonly forOperators: Omit<AssembledStore, 'forOperators'>
}

/** Dependencies of a store of any engine. */
interface StoreDeps {
  readonly db: Sql
  openWriter(hooks: WriterHooks): Writer
  readonly files: BlobFiles
  readonly notices: NoticeStore
  readonly now: () => number
  readonly channels: readonly StoredChannel[]
  /** The key of the digests of deleted messages. */
  readonly handledSecret: string
  /** True if only this process writes the database. */
  readonly isSoleWriter: boolean
  readonly log: Log
  readonly bytes: ByteStore | undefined
  /** Runs when a transaction is durable. */
  onDurable(batch: Batch): void
  /** Overwrites old pages that contain deleted rows. Absent for engines that keep no such pages. */
  readonly scrub?: (() => void) | undefined
  /** Rewrites all files. Absent for engines whose files keep no deleted rows. */
  readonly rewrite?: (() => void) | undefined
  /** True if the store only reads; false by default. */
  readonly readsOnly?: boolean | undefined
  /** Closes the engine, at the end. */
  release(): Promise<void> | void
}

export function assembleStore(deps: StoreDeps): AssembledStore {
  const { db, openWriter, files, notices, now, log, bytes, isSoleWriter } = deps
  const { onDurable, scrub = () => {}, rewrite, release } = deps
  const firstMessages = createFirstMessages()
  const inProcessTurns = createInProcessTurns({ db, now, isSoleWriter })
  const writer = openWriter(createHooks({ firstMessages, onDurable }))
  const { write, writeLightly, writeLast } = writer
  const channels = readChannelFacts(deps.channels)
  const context: StoreContext = {
    ...{ db, channels, write, writeLightly, writeLast, now, log, files, isSoleWriter, scrub },
    ...{ handledSecret: deps.handledSecret, readsOnly: deps.readsOnly === true },
  }
  const tables = createTables({ ...context, firstMessages, inProcessTurns })
  const stores = {
    transcript: createSqliteTranscript(context, tables),
    objects: createObjectStore(context, bytes),
    records: createRecordStore(context),
  }
  const refusals = createRefusals(context)
  const { flush: flushLookups, ...lookups } = createRecordedFetches(context, tables.lookups)
  const { admitNewMessage, ...admission } = createAdmission(context, tables)
  const planResolution = createResolutionPlan(context, tables)
  const lookupStore = createLookupStore(context, tables)
  const store: AssembledStore['forOperators'] = {
    ...admission,
    ...createRequirementStore(context, tables, { admitNewMessage, planResolution }),
    ...createOverdueStore(context, { requirements: tables.requirements, planResolution, admitNewMessage }),
    refuse: refusals.refuse,
    ...lookups,
    ...createArrivalLookup(db, files),
    ...createWorkStore(context, tables),
    ...lookupStore,
    ...createTaskStore(context, { ...tables, admitNewMessage }),
    ...createSingleUseStore(context),
    ...createRelationStore(context),
    ...createPeopleStore(context, tables, { ...stores, admitNewMessage }),
    ...createKnownPeopleReader(context),
    ...createOwnerForgetter(context, tables),
    ...createChatForgetter(context, tables, bytes),
    ...createWithdrawalStore(context, tables),
    ...createPruner(context, tables, lookupStore),
    ...createOperatorStore(context, tables, refusals),
    ...createWhyStore(context, refusals, inProcessTurns),
    ...notices,
    ...stores,
    checkWork: createWorkCheck(context),
    now,
    async rewriteFiles() {
      rewrite?.()
    },
    close: createClose({ writer, refusals, flushLookups, release }),
  }
  return { ...store, forOperators: store }
}

/** Adds the secrets by purpose to a store that an engine has opened. */
export function completeStore(
  { forOperators, ...store }: AssembledStore,
  { readsOnly, ...ringDeps }: Pick<StoreDeps, 'now' | 'isSoleWriter' | 'readsOnly'>,
): GatewayStore {
  const { close: closeSecrets, ...secrets } = createSecretRings({
    store: readsOnly ? createTemporarySecrets(store) : store,
    ...ringDeps,
  })
  const close = () => {
    closeSecrets()
    return store.close()
  }
  return { ...store, ...secrets, close, forOperators: { ...forOperators, ...secrets, close } }
}

/** Creates secrets that are missing in a read-only store for this process only. Nothing that they sign leaves the process. */
function createTemporarySecrets({
  readOrCreateSecret,
  hasSecret,
  notify,
  listen,
}: Pick<AssembledStore, 'readOrCreateSecret' | 'hasSecret' | 'notify' | 'listen'>) {
  return {
    ...{ hasSecret, notify, listen },
    readOrCreateSecret: async (name: string, create: () => Promise<string>) =>
      (await hasSecret(name)) ? readOrCreateSecret(name, create) : create(),
  }
}

interface HookDeps extends Pick<StoreDeps, 'onDurable'> {
  readonly firstMessages: ReturnType<typeof createFirstMessages>
}

function createHooks({ firstMessages, onDurable }: HookDeps): WriterHooks {
  let waitingBatches = 0

  /** Sends the notices of a transaction. If the transaction also ends its own turns, the notices wait until its callers listen, and later notices follow them. */
  function sendNotices(batch: Batch): void {
    const send = () => onDurable(batch)
    if (batch.continuations.length === 0 && waitingBatches === 0) send()
    else {
      waitingBatches += 1
      setImmediate(() => {
        waitingBatches -= 1
        send()
      })
    }
  }

  return {
    // The numbers of messages and the leases of turns are final only after the commit.
    onCommitted: batch => firstMessages.remember(batch.firstMessages),
    onUndone: undoWork,
    // A notice may concern a turn that begins, so the worker gets the turn first.
    onDurable(batch) {
      beginWork(batch)
      sendNotices(batch)
    },
  }
}

interface CloseDeps extends Pick<StoreDeps, 'release'> {
  readonly writer: Writer
  readonly refusals: Refusals
  readonly flushLookups: FetchLog['flush']
}

/** Creates the member `close`, which first writes all waiting data. A second call returns the promise of the first one. */
function createClose({ writer, refusals, flushLookups, release }: CloseDeps): () => Promise<void> {
  let closing: Promise<void> | undefined
  const closeAll = async () => {
    const flushes = Promise.all([refusals.flush(), flushLookups()])
    await Promise.all([writer.close(), flushes])
    await release()
  }
  return () => {
    closing ??= closeAll()
    return closing
  }
}
