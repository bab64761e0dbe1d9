// Stores the files of owners, with their bytes in the database or in a storage outside.
import { hash } from 'node:crypto'
import type { ByteStore, ObjectStore, StoredObject, UnreachableObject } from '@postern/message'
import { minObjectBytes, Rejection, Unavailable } from '@postern/message'
import type { Operation } from '../sql/operation.ts'
import { runTogether } from '../sql/operation.ts'
import type { Sql } from '../sql/sql.ts'
import type { StoreContext } from '../transaction/store-context.ts'
import { createAbsentSearch } from './absent-objects.ts'
import type { LocatedObject, RemoveBytes } from './object-bytes.ts'
import { createByteRemoval, formatObjectKey, locationColumns } from './object-bytes.ts'

interface ObjectRow extends Omit<StoredObject, 'createdAt'> {
  readonly created_at: number
}

interface ObjectPosition {
  readonly digest: string
  readonly id: number
}

/** The maximum number of objects with the same bytes that a search for a name reads. */
const maxCopies = 256
const absentFix = 'Copy the files of the former storage into the one of today, or configure the former one again.'
const columns = 'bucket, path, owner, mime, size, digest, created_at'

/**
 * Creates the store of objects, whose bytes are in the database or in `byteStore`. Bytes in `byteStore` are written before their row and deleted
 * before their row. So an interrupted removal still has its rows and can be repeated.
 */
export function createObjectStore(context: StoreContext, byteStore?: ByteStore): ObjectStore {
  const { db, write, scrub, log } = context
  const table = createObjectTable(db)
  const removeBytes = createByteRemoval(byteStore)
  const removeOwned = createOwnedRemoval({ write, db, scrub }, { table, removeBytes })
  return {
    putObject: createObjectInsertion(context, table, byteStore),
    findObject: (bucket, path) => db.read(() => table.find(bucket, path)),
    findObjectByDigest: (owner, digest, name = '') => db.read(() => table.findByDigest(owner, digest, name)),
    async readObject(object) {
      // Bytes in `byteStore` without a row belong to nobody any more.
      const [row, storedBytes] = await db.read(() =>
        runTogether([() => table.find(object.bucket, object.path), () => table.readBytes(object)]),
      )
      if (row === undefined) return undefined
      const bytes = storedBytes ?? (await byteStore?.read(formatObjectKey(object)))
      if (!bytes)
        log.warn({ bucket: object.bucket, path: object.path, fix: absentFix }, 'a file is not in the storage of today')
      return bytes
    },
    async removeObject(owner, object) {
      const locatedObject = await db.read(() => table.findLocation(owner, object))
      if (!locatedObject) return false
      if (!(await removeBytes(locatedObject)))
        throw new Unavailable('Cannot delete file: it is in a storage that the gateway does not use any more')
      return write(() => table.removeOne(owner, object))
    },
    removeObjects: (owner, { leavesBytes = false } = {}) => removeOwned(owner, { leavesBytes }),
    findAbsentObjects: createAbsentSearch(db, byteStore),
  }
}

/** Creates the insertion of an object within the quota of its owner. */
function createObjectInsertion(
  { db, write, now }: Pick<StoreContext, 'db' | 'write' | 'now'>,
  table: ReturnType<typeof createObjectTable>,
  byteStore: ByteStore | undefined,
): ObjectStore['putObject'] {
  return async ({ bucket, path, owner, mime, bytes }, maxOwnerBytes = Number.POSITIVE_INFINITY) => {
    const object = {
      bucket,
      path,
      owner,
      mime,
      size: bytes.byteLength,
      digest: hash('sha256', bytes),
      createdAt: now(),
    }
    const createNameTakenError = () => new Rejection('forbidden', 'Cannot store object: there is one of this name')
    function* checkQuota() {
      const usedBytes = Number.isFinite(maxOwnerBytes) ? yield* table.sumBytes(owner) : 0
      if (usedBytes + Math.max(object.size, minObjectBytes) <= maxOwnerBytes) return
      throw new Rejection(
        'too_large',
        `Cannot store object: with it there would be more than ${maxOwnerBytes} bytes of yours`,
      )
    }
    await db.read(function* () {
      if (yield* table.find(bucket, path)) throw createNameTakenError()
      yield* checkQuota()
    })
    // The bytes come first, because a row without them would promise a file that does not exist.
    await byteStore?.write(formatObjectKey(object), bytes, mime)
    function* insertWithinQuota() {
      yield* checkQuota()
      return yield* table.insert(
        object,
        byteStore ? { bytes: null, storage: byteStore.name } : { bytes, storage: null },
      )
    }
    const isInserted = await write(insertWithinQuota).catch(async error => {
      await byteStore?.remove(formatObjectKey(object))
      throw error
    })
    if (!isInserted) throw createNameTakenError()
    return object
  }
}

interface OwnedRemovalDeps {
  readonly table: ReturnType<typeof createObjectTable>
  readonly removeBytes: RemoveBytes
}

/** Creates the removal of an owner's files, one page at a time. */
function createOwnedRemoval(
  { db, write, scrub }: Pick<StoreContext, 'db' | 'write' | 'scrub'>,
  { table, removeBytes }: OwnedRemovalDeps,
) {
  return async (owner: string, { leavesBytes }: { readonly leavesBytes: boolean }) => {
    const unreachable: UnreachableObject[] = []
    let removedCount = 0
    for (let position: ObjectPosition = { digest: '', id: 0 }; ; ) {
      const objects = await db.read(() => table.listOwned(owner, position))
      if (objects.length === 0) return { removed: removedCount, unreachable }
      position = objects.at(-1) ?? position
      const removedObjects: LocatedObject[] = []
      for (const object of objects) {
        if ((await removeBytes(object)) || leavesBytes) removedObjects.push(object)
        else unreachable.push(describeUnreachable(owner, object))
      }
      await write(function* () {
        for (const object of removedObjects) yield* table.removeOne(owner, object)
      })
      removedCount += removedObjects.length
      scrub()
    }
  }
}

function describeUnreachable(owner: string, { bucket, path, storage }: LocatedObject): UnreachableObject {
  return { owner, bucket, path, ...(storage !== null && { storage }) }
}

function createObjectTable(db: Sql) {
  const insert = db.prepare(
    `INSERT OR IGNORE INTO objects (${columns}, bytes, storage) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  const find = db.prepare<ObjectRow>(`SELECT ${columns} FROM objects WHERE bucket = ? AND path = ?`)
  const findByDigest = db.prepare<ObjectRow>(
    `SELECT ${columns} FROM objects WHERE owner = ? AND digest = ? ORDER BY id DESC LIMIT +?`,
  )
  const readBytes = db.prepare<{ bytes: Uint8Array | null }>('SELECT bytes FROM objects WHERE bucket = ? AND path = ?')
  // This is the order of the index of owners.
  const listOf = db.prepare<LocatedObject & ObjectPosition>(
    `SELECT id, digest, ${locationColumns} FROM objects WHERE owner = ? AND (digest, id) > (?, ?) ORDER BY digest, id LIMIT 200`,
  )
  const findLocation = db.prepare<LocatedObject>(
    `SELECT ${locationColumns} FROM objects WHERE owner = ? AND bucket = ? AND path = ?`,
  )
  const removeOne = db.prepare('DELETE FROM objects WHERE owner = ? AND bucket = ? AND path = ?')
  const sumSizes = db.prepare<{ bytes: number }>(
    `SELECT coalesce(sum(max(size, ${minObjectBytes})), 0) AS bytes FROM objects WHERE owner = ?`,
  )
  const toStoredObject = (row: ObjectRow | undefined): StoredObject | undefined => {
    if (!row) return undefined
    const { created_at: createdAt, ...object } = row
    return { ...object, createdAt }
  }
  return {
    *insert(
      { bucket, path, owner, mime, size, digest, createdAt }: StoredObject,
      { bytes, storage }: { readonly bytes: Uint8Array | null; readonly storage: string | null },
    ): Operation<boolean> {
      return (yield* insert.change(bucket, path, owner, mime, size, digest, createdAt, bytes, storage)) > 0
    },
    findLocation: (owner: string, { bucket, path }: Pick<StoredObject, 'bucket' | 'path'>) =>
      findLocation.get(owner, bucket, path),
    *find(bucket: string, path: string) {
      return toStoredObject(yield* find.get(bucket, path))
    },
    *findByDigest(owner: string, digest: string, name: string) {
      const rows = yield* findByDigest.all(owner, digest, maxCopies)
      return toStoredObject(rows.find(({ path }) => `/${path}`.endsWith(`/${name}`)) ?? rows[0])
    },
    *readBytes({ bucket, path }: Pick<StoredObject, 'bucket' | 'path'>) {
      return (yield* readBytes.get(bucket, path))?.bytes ?? undefined
    },
    *removeOne(owner: string, { bucket, path }: Pick<StoredObject, 'bucket' | 'path'>): Operation<boolean> {
      return (yield* removeOne.change(owner, bucket, path)) > 0
    },
    *sumBytes(owner: string): Operation<number> {
      return (yield* sumSizes.get(owner))?.bytes ?? 0
    },
    listOwned: (owner: string, { digest, id }: ObjectPosition) => listOf.all(owner, digest, id),
  }
}
