// Stores small records of agents and owners.
import type { Json } from '@postern/message'
import type { Page } from '@postern/pipeline'
import type { RecordKey, RecordQuota, RecordStore, StoredRecord } from '@postern/transcript'
import { createKeyedDigests } from '../../digests/keyed-digest.ts'
import { hideKey } from '../../peers/protecting-records.ts'
import { formatJson, parseJson } from '../../sql/json-columns.ts'
import type { Operation, OperationOrValue } from '../../sql/operation.ts'
import type { StoreContext } from '../../transaction/store-context.ts'
import type { RecordRow, TiesRow } from './record-queries.ts'
import { prepareRecordQueries } from './record-queries.ts'
import { createRecordUsageTable } from './record-usage.ts'

export interface OwnedRecordStore extends RecordStore {
  /** Deletes all records of an owner and returns their number. */
  removeOwner(owner: string): Promise<number>
  /** Lists records, the newest first. `after` is the position of the last record on the page before. */
  listPage(kind: string, owner: string, page: Page): Promise<readonly (StoredRecord & { readonly number: number })[]>
  /** Reads the number and the bytes of an owner's records. */
  readQuota(owner: string): Promise<RecordQuota>
}

/** Creates the store of small records besides the transcript. */
export function createRecordStore(context: StoreContext): OwnedRecordStore {
  const { db, write, now, scrub } = context
  const queries = prepareRecordQueries(db)
  const keptData = createRecordUsageTable(db)
  const keyValues = ({ kind, owner, key }: RecordKey) => [kind, owner, key] as const
  const writeRecord = <T>(key: RecordKey, quota: RecordQuota | undefined, operation: () => OperationOrValue<T>) =>
    write(operation, { conflictKeys: () => listConflicts(key, quota) })
  const rowFinder = createRowFinder(context, queries)
  return {
    ...createRecordReads(context, queries, rowFinder),
    insert: (key, value, ties = {}) =>
      writeRecord(key, ties.quota, function* () {
        queries.purge.run(now())
        queries.deleteExpired.run(...keyValues(key), now())
        if (yield* rowFinder.findAnywhere(key)) return false
        const tiesRow = ties.source
          ? yield* queries.findTies.get(...keyValues(ties.source), now())
          : { ...ties, expires_at: ties.expiresAt }
        if (!tiesRow) return false
        const values = [...keyValues(key), formatJson(value), ...tieValues(tiesRow)] as const
        return yield* keptData.runWithinQuota(key.owner, ties.quota, function* () {
          return (yield* queries.insert.change(...values)) > 0
        })
      }),
    swap: (key, version, value, ties) =>
      writeRecord(key, ties?.quota, function* () {
        const { message = null, person = null, expiresAt = null, quota } = ties ?? {}
        if (message !== null && !(yield* queries.hasMessage.get(message))) return false
        return yield* keptData.runWithinQuota(key.owner, quota, function* () {
          const isFirst = (yield* queries.swap.change(formatJson(value), ...keyValues(key), version)) > 0
          if (isFirst && ties) queries.tie.run(...keyValues(key), message, person, expiresAt)
          return isFirst
        })
      }),
    put: (key, value) => writeRecord(key, undefined, () => void queries.put.run(...keyValues(key), formatJson(value))),
    remove(key) {
      const removeAll = () => {
        const hiddenKey = rowFinder.findHidden(key)
        for (const protectedKey of hiddenKey ? [key, hiddenKey] : [key]) queries.remove.run(...keyValues(protectedKey))
      }
      return writeRecord(key, undefined, removeAll)
    },
    async removeOwner(owner) {
      const removedCount = await write(function* () {
        const changes = yield* queries.removeOwner.change(owner)
        // The shards of a total may have a sum of zero even if no record was left.
        queries.deleteZeroTotals.run(owner)
        return changes
      })
      scrub()
      return removedCount
    },
    readQuota: owner => db.read(() => keptData.read(owner)),
  }
}

/** Creates the members that read records. */
function createRecordReads(
  { db, now }: Pick<StoreContext, 'db' | 'now'>,
  queries: ReturnType<typeof prepareRecordQueries>,
  { findAnywhere }: ReturnType<typeof createRowFinder>,
): Pick<OwnedRecordStore, 'get' | 'list' | 'listPage'> {
  return {
    get: key =>
      db.read(function* () {
        return readOptional(yield* findAnywhere(key))
      }),
    list: (kind, owner, { limit = -1, offset = 0 } = {}) =>
      db.read(function* () {
        return (yield* queries.list.all(kind, owner, now(), limit, offset)).map(readRecord)
      }),
    listPage: (kind, owner, { limit, after = Number.MAX_SAFE_INTEGER }) =>
      db.read(function* () {
        return (yield* queries.listPage.all(owner, kind, after, now(), limit)).map(row => ({
          ...readRecord(row),
          number: row.id,
        }))
      }),
  }
}

/** Finds a record by its key, or by the digest that replaced the key when its person was forgotten. */
function createRowFinder(context: StoreContext, { find }: ReturnType<typeof prepareRecordQueries>) {
  const digests = createKeyedDigests(context)
  const findRow = ({ kind, owner, key }: RecordKey) => find.get(kind, owner, key, context.now())
  function findHidden(record: RecordKey): RecordKey | undefined {
    const key = hideKey(record, digests)
    return key === undefined ? undefined : { ...record, key }
  }
  return {
    findHidden,
    *findAnywhere(key: RecordKey): Operation<RecordRow | undefined> {
      const hiddenKey = findHidden(key)
      return (yield* findRow(key)) ?? (hiddenKey && (yield* findRow(hiddenKey)))
    },
  }
}

/** Lists the conflict keys of a write. With `quota`, the list includes the owner's totals, because the write compares them with the quota. */
function listConflicts({ kind, owner, key }: RecordKey, quota?: RecordQuota): readonly string[] {
  return [JSON.stringify(['record', kind, owner, key]), ...(quota ? [JSON.stringify(['kept', owner])] : [])]
}

function tieValues({ message = null, person = null, expires_at = null }: TiesRow) {
  return [message, person, expires_at] as const
}

function readOptional(row: RecordRow | undefined): StoredRecord | undefined {
  return row && readRecord(row)
}

function readRecord({ key, version, value }: RecordRow): StoredRecord {
  return { key, version, value: parseJson<Json>(value) }
}
