import { hash } from 'node:crypto'
import type { Authorship, Json, Lookup, ReplayStore } from '@postern/core'
import type { BlobFiles } from '../engine/blob-files.ts'
import type { Sql } from '../engine/database.ts'
import { formatJson, parseJson, readAfterWait } from '../engine/database.ts'
import type { StoreContext } from '../engine/store-context.ts'

/** Answers of other hosts as they were. Synchronous: inside a write. */
export interface LookupTable {
  /** What these principals have published. */
  forget(owners: readonly string[]): void
  /** What shows a post that its author has taken back. */
  forgetObject(authorship: Authorship): void
  /** `listener` is told what is forgotten from now on: that may still be on its way into the table. */
  onForget(listener: (isForgotten: IsForgotten) => void): void
}

type IsForgotten = (lookup: Pick<Lookup, 'owner' | 'object'>) => boolean

export interface LookupLog extends Pick<ReplayStore, 'noteLookup' | 'findLookup'> {
  flush(): Promise<void>
}

/** So many are kept, the oldest go first. */
const keptInAll = 20_000
/** Longer ones are not kept, characters of JSON: documents of peers have few. */
const maxChars = 64 * 1024
/** So many wait to be written; more are left out. */
const maxWaiting = 1_000
const flushMs = 250
/** Whose last answer is in memory, by question. */
const maxKnown = 5_000

export function createLookupTable(db: Sql): LookupTable {
  const end = db.prepare('DELETE FROM lookups WHERE owner IN (SELECT value FROM json_each(?))')
  const endObject = db.prepare('DELETE FROM lookups WHERE object = ? AND owner = ?')
  const listeners: ((isForgotten: IsForgotten) => void)[] = []
  function tell(isForgotten: IsForgotten): void {
    for (const listener of listeners) listener(isForgotten)
  }
  return {
    forget(owners) {
      end.run(formatJson(owners))
      tell(({ owner }) => owner !== undefined && owners.includes(owner))
    },
    forgetObject({ author, object }) {
      endObject.run(object, author)
      tell(lookup => lookup.object === object && lookup.owner === author)
    },
    onForget: listener => void listeners.push(listener),
  }
}

interface WaitingLookup extends Omit<Lookup, 'answer'> {
  readonly answer: string
}

const findSql = 'SELECT answer FROM lookups WHERE question = ? AND at <= ? ORDER BY at DESC, id DESC LIMIT 1'

/** On its way into the table. */
interface LookupBatch {
  lookups: readonly WaitingLookup[]
  written: Promise<void>
}

export function createLookups(
  { db, write, log }: Pick<StoreContext, 'db' | 'write' | 'log'>,
  table: Pick<LookupTable, 'onForget'>,
): LookupLog {
  const find = db.prepare<{ answer: string }>(findSql)
  const insertAll = createInsertion(db)
  const known = createKnownAnswers()
  let waiting: WaitingLookup[] = []
  const batches = new Set<LookupBatch>()
  let timer: NodeJS.Timeout | undefined

  table.onForget(isForgotten => {
    const stays = (lookup: WaitingLookup) => !isForgotten(lookup)
    waiting = waiting.filter(stays)
    for (const batch of batches) batch.lookups = batch.lookups.filter(stays)
    // Its answer is no more on record: whoever asks again writes it again.
    known.clear()
  })

  async function writeBatch(batch: LookupBatch): Promise<void> {
    try {
      await write(() => insertAll(batch.lookups), { touches: () => ['lookups'] })
      known.countWritten(batch.lookups.length)
    } catch (error) {
      known.clear()
      log.warn({ err: error, count: batch.lookups.length }, 'what was looked up could not be remembered')
    } finally {
      batches.delete(batch)
    }
  }

  /** All that was noted is in the table when this resolves, whoever began to write it. */
  async function flush(): Promise<void> {
    clearTimeout(timer)
    timer = undefined
    if (waiting.length > 0) {
      const batch: LookupBatch = { lookups: waiting, written: Promise.resolve() }
      waiting = []
      batches.add(batch)
      batch.written = writeBatch(batch)
    }
    await Promise.all([...batches].map(({ written }) => written))
  }

  return {
    noteLookup({ answer, ...lookup }) {
      const text = formatJson(answer)
      if (text.length > maxChars || waiting.length >= maxWaiting) return
      if (!known.isNew(lookup.key, hash('sha256', text, 'base64'))) return
      waiting.push({ ...lookup, answer: text })
      timer ??= setTimeout(() => void flush(), flushMs).unref()
    },
    async findLookup(key, at) {
      await flush()
      const row = await readAfterWait(db, () => find.get(key, at))
      return row && parseJson<Json>(row.answer)
    },
    flush,
  }
}

function createInsertion(db: Sql): (lookups: readonly WaitingLookup[]) => void {
  const insert = db.prepare('INSERT INTO lookups (question, at, answer, owner, object) VALUES (?, ?, ?, ?, ?)')
  const prune = db.prepare('DELETE FROM lookups WHERE id <= (SELECT max(id) FROM lookups) - ?')
  // An author may take a post back while somebody still reads it, here or at another gateway.
  const findWithdrawal = db.prepare('SELECT 1 FROM withdrawals WHERE author = ? AND object = ?')
  const isWithdrawn = (owner: string | null, object: string | null) =>
    owner !== null && object !== null && findWithdrawal.get(owner, object) !== undefined
  return lookups => {
    for (const { key, at, answer, owner = null, object = null } of lookups) {
      if (!isWithdrawn(owner, object)) insert.run(key, at, answer, owner, object)
    }
    prune.run(keptInAll)
  }
}

/** The last answer to each question, so that the table is not read for it. After a start each is written once more. */
function createKnownAnswers() {
  const known = new Map<string, string>()
  let written = 0
  return {
    isNew(key: string, digest: string): boolean {
      const before = known.get(key)
      if (known.size >= maxKnown) known.clear()
      known.set(key, digest)
      return before !== digest
    },
    /** What is read all the time must not be the oldest that goes: it is written again before. */
    countWritten(count: number): void {
      written += count
      if (written < keptInAll / 2) return
      written = 0
      known.clear()
    },
    clear: () => known.clear(),
  }
}

interface ArrivalRow {
  readonly arrival: string | null
  readonly target: string
  readonly bytes: Uint8Array | null
  /** Digest of bytes that lie in a file. */
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
    async findArrival(number) {
      const row = find.get(number)
      if (!row) return undefined
      return {
        number,
        arrival: row.arrival === null ? undefined : parseJson(row.arrival),
        raw: (row.file === null ? row.bytes : readNow(row.file)) ?? undefined,
        target: parseJson(row.target),
        merged: listMerged.all(number).map(({ message }) => message),
      }
    },
  }
}
