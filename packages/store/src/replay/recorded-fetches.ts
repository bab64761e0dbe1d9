// Records the results of the lookups that messages caused, for replays of these messages.
import { hash } from 'node:crypto'
import type { Json } from '@postern/message'
import type { Authorship, Lookup, ReplayStore } from '@postern/pipeline'
import type { BlobFiles } from '../files/blob-files.ts'
import { createWithdrawalFinder } from '../peers/withdrawals.ts'
import { formatJson, parseJson } from '../sql/json-columns.ts'
import type { Operation } from '../sql/operation.ts'
import type { Sql } from '../sql/sql.ts'
import type { StoreContext } from '../transaction/store-context.ts'

/** The table of recorded answers of other hosts. The members are operations of a write. */
export interface RecordedFetchTable {
  /** Deletes the answers that these principals have published, and returns their number. */
  forget(owners: readonly string[]): Operation<number>
  /** Deletes the answers that contain an object which its author has deleted. */
  forgetObject(authorship: Authorship): void
  /** Calls `listener` at each later deletion, because answers that must be deleted may still wait to be written. */
  onForget(listener: (isForgotten: IsForgotten) => void): void
}

type IsForgotten = (lookup: Pick<Lookup, 'owner' | 'object'>) => boolean

export interface FetchLog extends Pick<ReplayStore, 'noteLookup' | 'findLookup'> {
  flush(): Promise<void>
}

/** The maximum number of answers in the table. The oldest answers are deleted first. */
const maxStoredFetches = 20_000
/** The maximum length of a recorded answer in characters of JSON. Documents of peers are usually shorter. */
const maxChars = 64 * 1024
/** The maximum number of answers that wait to be written. Further answers are not recorded. */
const maxPendingLookups = 1_000
const flushMs = 250
/** The maximum number of questions whose last answer is cached. */
const maxCachedAnswers = 5_000

export function createRecordedFetchTable(db: Sql): RecordedFetchTable {
  const deleteByOwner = db.prepare('DELETE FROM lookups WHERE owner IN (SELECT value FROM json_each(?))')
  const deleteObject = db.prepare('DELETE FROM lookups WHERE object = ? AND owner = ?')
  const listeners: ((isForgotten: IsForgotten) => void)[] = []
  function purgeForgotten(isForgotten: IsForgotten): void {
    for (const listener of listeners) listener(isForgotten)
  }
  return {
    *forget(owners) {
      const changes = yield* deleteByOwner.change(formatJson(owners))
      purgeForgotten(({ owner }) => owner !== undefined && owners.includes(owner))
      return changes
    },
    forgetObject({ author, object }) {
      deleteObject.run(object, author)
      purgeForgotten(lookup => lookup.object === object && lookup.owner === author)
    },
    onForget: listener => void listeners.push(listener),
  }
}

interface PendingLookup extends Omit<Lookup, 'answer'> {
  readonly answer: string
}

const findSql = 'SELECT answer FROM lookups WHERE question = ? AND at <= ? ORDER BY at DESC, id DESC LIMIT 1'

/** Lookups that are being written into the table. */
interface LookupBatch {
  lookups: readonly PendingLookup[]
  stored: Promise<void>
}

export function createRecordedFetches(
  { db, write, log }: Pick<StoreContext, 'db' | 'write' | 'log'>,
  table: Pick<RecordedFetchTable, 'onForget'>,
): FetchLog {
  const find = db.prepare<{ answer: string }>(findSql)
  const insertAll = createInsertion(db)
  const answerDigests = createAnswerCache()
  let pendingLookups: PendingLookup[] = []
  const batches = new Set<LookupBatch>()
  let timer: NodeJS.Timeout | undefined

  table.onForget(isForgotten => {
    const isKept = (lookup: PendingLookup) => !isForgotten(lookup)
    pendingLookups = pendingLookups.filter(isKept)
    for (const batch of batches) batch.lookups = batch.lookups.filter(isKept)
    // Cached answers may no longer be in the table, so the next lookup must write its answer again.
    answerDigests.clear()
  })

  async function writeBatch(batch: LookupBatch): Promise<void> {
    try {
      await write(() => insertAll(batch.lookups), { conflictKeys: () => ['lookups'] })
      answerDigests.countWritten(batch.lookups.length)
    } catch (error) {
      answerDigests.clear()
      log.warn({ err: error, count: batch.lookups.length }, 'the results of lookups could not be stored')
    } finally {
      batches.delete(batch)
    }
  }

  /** Writes all buffered lookups. Resolves when they are in the table, together with those of earlier flushes. */
  async function flush(): Promise<void> {
    clearTimeout(timer)
    timer = undefined
    if (pendingLookups.length > 0) {
      const batch: LookupBatch = { lookups: pendingLookups, stored: Promise.resolve() }
      pendingLookups = []
      batches.add(batch)
      batch.stored = writeBatch(batch)
    }
    await Promise.all([...batches].map(({ stored }) => stored))
  }

  return {
    noteLookup({ answer, ...lookup }) {
      const text = formatJson(answer)
      if (text.length > maxChars || pendingLookups.length >= maxPendingLookups) return
      if (!answerDigests.isNew(lookup.key, hash('sha256', text, 'base64'))) return
      pendingLookups.push({ ...lookup, answer: text })
      timer ??= setTimeout(() => void flush(), flushMs).unref()
    },
    async findLookup(key, at) {
      await flush()
      const row = await db.read(() => find.get(key, at))
      return row && parseJson<Json>(row.answer)
    },
    flush,
  }
}

function createInsertion(db: Sql): (lookups: readonly PendingLookup[]) => Operation<void> {
  const insert = db.prepare('INSERT INTO lookups (question, at, answer, owner, object) VALUES (?, ?, ?, ?, ?)')
  const prune = db.prepare('DELETE FROM lookups WHERE id <= (SELECT max(id) FROM lookups) - ?')
  // An author may delete an object while it is still being fetched, possibly by another gateway.
  const findWithdrawal = createWithdrawalFinder(db)
  function* isWithdrawn(owner: string | null, object: string | null) {
    return owner !== null && object !== null && (yield* findWithdrawal({ author: owner, object }))
  }
  return function* (lookups) {
    for (const { key, at, answer, owner = null, object = null } of lookups) {
      if (!(yield* isWithdrawn(owner, object))) insert.run(key, at, answer, owner, object)
    }
    prune.run(maxStoredFetches)
  }
}

/**
 * Creates the cache with the digest of the last answer to each question, so that a repeated answer needs no query. After a start, each answer is
 * written again.
 */
function createAnswerCache() {
  const digests = new Map<string, string>()
  let storedCount = 0
  return {
    isNew(key: string, digest: string): boolean {
      const previousDigest = digests.get(key)
      if (digests.size >= maxCachedAnswers) digests.clear()
      digests.set(key, digest)
      return previousDigest !== digest
    },
    /**
     * Counts writes, and clears the cache regularly. So an answer that is needed often is written again before its row becomes the oldest and is
     * deleted.
     */
    countWritten(count: number): void {
      storedCount += count
      if (storedCount < maxStoredFetches / 2) return
      storedCount = 0
      digests.clear()
    },
    clear: () => digests.clear(),
  }
}

interface ArrivalRow {
  readonly arrival: string | null
  readonly target: string
  readonly bytes: Uint8Array | null
  /** The digest of bytes that are stored in a file. */
  readonly file: string | null
}

export function createArrivalLookup(
  db: Sql,
  { readNow }: Pick<BlobFiles, 'readNow'>,
): Pick<ReplayStore, 'findArrival'> {
  const find = db.prepare<ArrivalRow>(
    `SELECT m.arrival, m.target, coalesce(m.raw, b.bytes) AS bytes, CASE WHEN b.is_file = 1 THEN b.digest END AS file
     FROM messages m LEFT JOIN blobs b ON b.digest = m.raw_digest WHERE m.seq = ? AND m.kind = 'message'`,
  )
  const listMerged = db.prepare<{ message: number }>('SELECT message FROM turns WHERE merged_into = ? ORDER BY message')
  return {
    findArrival(number) {
      return db.read(function* () {
        const row = yield* find.get(number)
        if (!row) return undefined
        return {
          number,
          arrival: row.arrival === null ? undefined : parseJson(row.arrival),
          raw: (row.file === null ? row.bytes : readNow(row.file)) ?? undefined,
          target: parseJson(row.target),
          merged: (yield* listMerged.all(number)).map(({ message }) => message),
        }
      })
    },
  }
}
