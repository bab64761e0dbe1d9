import { hash } from 'node:crypto'
import type { ByteStore, KeptFile, ObjectStore, Part, StoredObject, WorkStore } from '@postern/core'
import { leastObjectBytes, pointToKept, Rejection } from '@postern/core'
import type { EntryTable } from '../conversations/entries.ts'
import type { Sql } from '../engine/database.ts'
import { formatJson, parseJson, readAfterWait, refuseLostLease } from '../engine/database.ts'
import type { StoreContext } from '../engine/store-context.ts'
import type { BlobTable } from './table.ts'

interface ObjectRow extends Omit<StoredObject, 'createdAt'> {
  readonly created_at: number
}

/** Of the same bytes, so many are looked at for one of a name. */
const mostCopies = 256
const columns = 'bucket, path, owner, mime, size, digest, created_at'

/**
 * Objects, with their bytes in the store's file or in `elsewhere`. Bytes there come before their row and go before it: cut off in between, what is
 * to be removed is still known, and is removed when it is asked for again.
 */
export function createObjectStore({ db, write, now, scrub }: StoreContext, elsewhere?: ByteStore): ObjectStore {
  const table = createObjectTable(db)
  return {
    async putObject({ bucket, path, owner, mime, bytes }, most = Number.POSITIVE_INFINITY) {
      const object = {
        bucket,
        path,
        owner,
        mime,
        size: bytes.byteLength,
        digest: hash('sha256', bytes),
        createdAt: now(),
      }
      const isTaken = () => new Rejection('forbidden', 'Cannot store object: there is one of this name')
      const checkQuota = () => {
        const used = Number.isFinite(most) ? table.sumBytes(owner) : 0
        if (used + Math.max(object.size, leastObjectBytes) <= most) return
        throw new Rejection('too_large', `Cannot store object: with it there would be more than ${most} bytes of yours`)
      }
      if (table.find(bucket, path)) throw isTaken()
      checkQuota()
      // First the bytes: a row without them would be a promise we cannot keep.
      await elsewhere?.write(keyOf(object), bytes, mime)
      const context = () => {
        checkQuota()
        return table.insert(object, elsewhere ? null : bytes)
      }
      const stored = await write(context).catch(async error => {
        await elsewhere?.remove(keyOf(object))
        throw error
      })
      if (!stored) throw isTaken()
      return object
    },
    findObject: async (bucket, path) => table.find(bucket, path),
    findObjectByDigest: async (owner, digest, name = '') => table.findByDigest(owner, digest, name),
    async readObject(object) {
      // What lies elsewhere without a row is nobody's any more.
      const isKept = table.find(object.bucket, object.path) !== undefined
      return isKept ? (table.readBytes(object) ?? elsewhere?.read(keyOf(object))) : undefined
    },
    async removeObject(owner, object) {
      if (table.find(object.bucket, object.path)?.owner !== owner) return false
      await elsewhere?.remove(keyOf(object))
      return write(() => table.removeOne(owner, object))
    },
    async removeObjects(owner) {
      for (let removed = 0; ; ) {
        const objects = await readAfterWait(db, () => table.listOf(owner))
        if (objects.length === 0) return removed
        if (elsewhere) for (const object of objects) await elsewhere.remove(keyOf(object))
        await write(() => {
          for (const object of objects) table.removeOne(owner, object)
        })
        removed += objects.length
        scrub()
      }
    },
  }
}

function keyOf({ bucket, path }: Pick<StoredObject, 'bucket' | 'path'>): string {
  return `${bucket}/${path}`
}

function createObjectTable(db: Sql) {
  const insert = db.prepare(`INSERT OR IGNORE INTO objects (${columns}, bytes) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`)
  const find = db.prepare<ObjectRow>(`SELECT ${columns} FROM objects WHERE bucket = ? AND path = ?`)
  const findByDigest = db.prepare<ObjectRow>(
    `SELECT ${columns} FROM objects WHERE owner = ? AND digest = ? ORDER BY id DESC LIMIT +?`,
  )
  const readBytes = db.prepare<{ bytes: Uint8Array | null }>('SELECT bytes FROM objects WHERE bucket = ? AND path = ?')
  const listOf = db.prepare<{ bucket: string; path: string }>(
    'SELECT bucket, path FROM objects WHERE owner = ? LIMIT 200',
  )
  const removeOne = db.prepare('DELETE FROM objects WHERE owner = ? AND bucket = ? AND path = ?')
  const sum = db.prepare<{ bytes: number }>(
    `SELECT coalesce(sum(max(size, ${leastObjectBytes})), 0) AS bytes FROM objects WHERE owner = ?`,
  )
  const read = (row: ObjectRow | undefined): StoredObject | undefined => {
    if (!row) return undefined
    const { created_at: createdAt, ...object } = row
    return { ...object, createdAt }
  }
  return {
    insert({ bucket, path, owner, mime, size, digest, createdAt }: StoredObject, bytes: Uint8Array | null): boolean {
      return insert.run(bucket, path, owner, mime, size, digest, createdAt, bytes).changes > 0
    },
    find: (bucket: string, path: string) => read(find.get(bucket, path)),
    findByDigest(owner: string, digest: string, name: string) {
      const rows = findByDigest.all(owner, digest, mostCopies)
      return read(rows.find(({ path }) => `/${path}`.endsWith(`/${name}`)) ?? rows[0])
    },
    readBytes: ({ bucket, path }: Pick<StoredObject, 'bucket' | 'path'>) =>
      readBytes.get(bucket, path)?.bytes ?? undefined,
    removeOne: (owner: string, { bucket, path }: Pick<StoredObject, 'bucket' | 'path'>): boolean =>
      removeOne.run(owner, bucket, path).changes > 0,
    sumBytes: (owner: string): number => sum.get(owner)?.bytes ?? 0,
    listOf: (owner: string) => listOf.all(owner),
  }
}

/** Files that lay elsewhere are part of their messages from now on, and go with them. */
export function createFileKeeping(
  { db, write, files }: StoreContext,
  tables: { readonly entries: EntryTable; readonly blobs: BlobTable },
): Pick<WorkStore, 'keepFiles'> {
  const isHeld = db.prepare('SELECT 1 FROM turns WHERE message = ? AND lease_token = ? AND lease_owner IS NOT NULL')
  const findWords = db.prepare<{ content: string }>('SELECT content FROM messages WHERE seq = ?')

  /** Its words may have changed meanwhile: what they do not name any more is not kept. */
  function keepIn(message: number, kept: readonly KeptFile[]): void {
    const content = findWords.get(message)?.content
    if (content === undefined) return
    const parts = parseJson<readonly Part[]>(content)
    const named = kept.filter(({ url }) => content.includes(formatJson(url)))
    if (named.length === 0) return
    tables.entries.reword(message, formatJson(pointToKept(parts, named)))
    tables.blobs.keepAll(named, message)
  }

  return {
    async keepFiles(turn, kept) {
      const held = await files.hold(kept, () =>
        write(() => {
          if (!isHeld.get(turn.message, turn.token)) return 0
          for (const message of [...(turn.merged ?? []), turn.message]) keepIn(message, kept)
          return 1
        }),
      )
      refuseLostLease(held, `turn ${turn.message}`)
    },
  }
}
