import { DatabaseSync } from 'node:sqlite'
import { Unavailable } from '@postern/message'
import { expect, test, vi } from 'vitest'
import { migrateDatabase } from '../../schema/migrate.ts'
import type { Batch } from '../../transaction/batch.ts'
import { addToTotal } from '../../transaction/totals.ts'
import type { Writer } from '../../transaction/writer.ts'
import type { DurabilityPoint, Transactions } from './transactions.ts'
import { createSqliteTransactions } from './transactions.ts'
import { createWriter } from './writer.ts'

interface Bench {
  readonly db: DatabaseSync
  readonly writer: Writer
  readonly batches: Batch[]
  put(value: number): Promise<unknown>
  values(): unknown[]
}

/** Creates a disk that completes a sync at the test's request. */
function openSlowDisk() {
  const waiting: Parameters<DurabilityPoint['whenReached']>[0][] = []
  const durability: DurabilityPoint = { whenReached: tell => void waiting.push(tell) }
  return { waiting, durability }
}

function openBench({ durability }: Pick<Transactions, 'durability'> = {}): Bench {
  const db = new DatabaseSync(':memory:')
  migrateDatabase(db)
  db.exec('CREATE TABLE notes (value INTEGER NOT NULL UNIQUE, text TEXT) STRICT')
  const batches: Batch[] = []
  const hooks = { onDurable: (batch: Batch) => void batches.push(batch) }
  const writer = createWriter(db, hooks, createSqliteTransactions(db, { durability }))
  const insert = db.prepare('INSERT INTO notes (value) VALUES (?)')
  return {
    db,
    writer,
    batches,
    put: value =>
      writer.write(batch => {
        addToTotal(batch, 'refusals')
        batch.notices.push({ topic: 'put', payload: value })
        insert.run(value)
        return value
      }),
    values: () =>
      db
        .prepare('SELECT value FROM notes ORDER BY rowid')
        .all()
        .map(row => row.value),
  }
}

function totalOf({ db }: Bench): unknown {
  return db.prepare("SELECT value FROM counters WHERE name = 'refusals'").get()?.value
}

test('write() runs the operations of one turn of the event loop in one transaction, in order', async () => {
  const bench = openBench()
  const written = await Promise.all([3, 1, 2].map(bench.put))
  expect(written).toEqual([3, 1, 2])
  expect(bench.values()).toEqual([3, 1, 2])
  expect(bench.batches).toHaveLength(1)
  expect(bench.batches[0]?.notices.map(({ payload }) => payload)).toEqual([3, 1, 2])
})

test('writeLast() runs after later operations of its transaction, and returns its own result', async () => {
  const bench = openBench()
  const last = bench.writer.writeLast(() => bench.values())
  const first = [bench.put(1), bench.put(2)]
  expect(await last).toEqual([1, 2])
  expect(await Promise.all(first)).toEqual([1, 2])
  expect(bench.batches).toHaveLength(1)
})

test('write() keeps its rows if a writeLast() in the same transaction fails', async () => {
  const bench = openBench()
  const last = bench.writer.writeLast(() => {
    throw new Error('cannot read')
  })
  const first = bench.put(1)
  await expect(last).rejects.toThrow()
  expect(await first).toBe(1)
  expect(bench.values()).toEqual([1])
})

test('write() limits the size of a transaction, and runs a larger operation alone', async () => {
  const bench = openBench()
  const put = (value: number, size: number) =>
    bench.writer.write(batch => batch.notices.push({ topic: 'put', payload: value }), { size })
  await Promise.all([put(1, 9e6), put(2, 6e5), put(3, 4e5), put(4, 1e5), put(5, 0)])
  expect(bench.batches.map(({ notices }) => notices.map(({ payload }) => payload))).toEqual([[1], [2, 3], [4, 5]])
})

test('write() runs at most 256 operations in one transaction, so that they do not block the event loop', async () => {
  const bench = openBench()
  await Promise.all(Array.from({ length: 600 }, (_, value) => bench.put(value)))
  expect(bench.batches.map(({ notices }) => notices.length)).toEqual([256, 256, 88])
  expect(totalOf(bench)).toBe(600)
})

test('an operation that throws leaves no rows, totals or notifications, and does not affect others', async () => {
  const bench = openBench()
  const broken = bench.writer.write(batch => {
    addToTotal(batch, 'refusals', 100)
    batch.notices.push({ topic: 'put', payload: 'broken' })
    bench.db.exec('INSERT INTO notes (value) VALUES (99)')
    throw new Error('a bug')
  })
  const ends = await Promise.allSettled([bench.put(1), broken, bench.put(2), bench.put(1)])
  expect(ends.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'rejected'])
  expect(ends[1]).toMatchObject({ reason: { message: 'a bug' } })
  expect(bench.values()).toEqual([1, 2])
  expect(totalOf(bench)).toBe(2)
  expect(bench.batches.flatMap(({ notices }) => notices.map(({ payload }) => payload))).toEqual([1, 2])
})

test('a failed COMMIT rejects all operations of its transaction, and the next transaction succeeds', async () => {
  const bench = openBench()
  bench.db.exec(
    'PRAGMA foreign_keys = ON; CREATE TABLE parts (id INTEGER REFERENCES notes (value) DEFERRABLE INITIALLY DEFERRED)',
  )
  const orphan = bench.writer.write(() => bench.db.exec('INSERT INTO parts (id) VALUES (12345)'))
  const ends = await Promise.allSettled([bench.put(1), orphan])
  expect(ends.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  expect(bench.batches).toEqual([])
  await bench.put(2)
  expect(bench.values()).toEqual([2])
})

test('on a full disk only operations that do not fit fail with Unavailable', async () => {
  const bench = openBench()
  const pages = Number(bench.db.prepare('PRAGMA page_count').get()?.page_count)
  bench.db.exec(`PRAGMA max_page_count = ${pages + 4}`)
  const large = bench.writer.write(() =>
    bench.db.prepare('INSERT INTO notes (value, text) VALUES (9, ?)').run('x'.repeat(1e6)),
  )
  const [small, full] = await Promise.allSettled([bench.put(1), large])
  expect(small.status).toBe('fulfilled')
  expect(full).toMatchObject({ status: 'rejected', reason: expect.any(Unavailable) })
  expect(full).toMatchObject({ reason: { message: 'Cannot store: the database does not take writes now' } })
  await bench.put(2)
  expect(bench.values()).toEqual([1, 2])
})

test('close() writes waiting operations and then refuses new ones', async () => {
  const bench = openBench()
  const waiting = bench.put(1)
  bench.writer.close()
  expect(bench.values()).toEqual([1])
  expect(await waiting).toBe(1)
  await expect(bench.put(2)).rejects.toThrow('the store is closed')
})

test('write() resolves when its rows are on disk, and the next transaction does not wait for that', async () => {
  const { waiting, durability } = openSlowDisk()
  const bench = openBench({ durability })
  const ended: string[] = []
  const first = bench.put(1).then(() => ended.push('first'))
  await vi.waitFor(() => expect(waiting).toHaveLength(1))
  const second = bench.put(2).then(() => ended.push('second'))
  await vi.waitFor(() => expect(waiting).toHaveLength(2))
  expect(bench.values()).toEqual([1, 2])
  expect({ ended, batches: bench.batches }).toEqual({ ended: [], batches: [] })
  waiting[0]?.(undefined)
  await first
  expect(ended).toEqual(['first'])
  expect(bench.batches.flatMap(({ notices }) => notices.map(({ payload }) => payload))).toEqual([1])
  waiting[1]?.(undefined)
  await second
})

test('writeLightly() waits for the disk only if an earlier write waits for it', async () => {
  const { waiting, durability } = openSlowDisk()
  const bench = openBench({ durability })
  const ended: string[] = []
  expect(await bench.writer.writeLightly(() => 'leased')).toBe('leased')
  expect(waiting).toEqual([])
  const admitted = bench.put(1).then(() => ended.push('admitted'))
  await vi.waitFor(() => expect(waiting).toHaveLength(1))
  const leased = bench.writer.writeLightly(() => 'leased').then(() => ended.push('leased'))
  await new Promise(resolve => setTimeout(resolve, 20))
  expect(ended).toEqual([])
  expect(waiting).toHaveLength(1)
  waiting[0]?.(undefined)
  await Promise.all([admitted, leased])
  expect(ended).toEqual(['admitted', 'leased'])
})

test('write() rejects with Unavailable after a disk failure, and sends no notifications', async () => {
  const { waiting, durability } = openSlowDisk()
  const bench = openBench({ durability })
  const lost = bench.put(1)
  await vi.waitFor(() => expect(waiting).toHaveLength(1))
  waiting[0]?.(new Error('EIO'))
  await expect(lost).rejects.toThrow(Unavailable)
  expect(bench.batches).toEqual([])
})

test('close() waits for the disk', async () => {
  const { waiting, durability } = openSlowDisk()
  const bench = openBench({ durability })
  const written = bench.put(1)
  let isClosed = false
  const closed = bench.writer.close().then(() => {
    isClosed = true
  })
  await vi.waitFor(() => expect(waiting).toHaveLength(1))
  expect(isClosed).toBe(false)
  waiting[0]?.(undefined)
  await Promise.all([written, closed])
})
