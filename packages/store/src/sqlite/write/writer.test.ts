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

interface TestWriter {
  readonly db: DatabaseSync
  readonly writer: Writer
  readonly batches: Batch[]
  put(value: number): Promise<unknown>
  values(): unknown[]
}

/** Creates a disk that completes a sync at the test's request. */
function openSlowDisk() {
  const pendingCallbacks: Parameters<DurabilityPoint['whenReached']>[0][] = []
  const durability: DurabilityPoint = { whenReached: callback => void pendingCallbacks.push(callback) }
  return { waiting: pendingCallbacks, durability }
}

function openTestWriter({ durability }: Pick<Transactions, 'durability'> = {}): TestWriter {
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

function totalOf({ db }: TestWriter): unknown {
  return db.prepare("SELECT value FROM counters WHERE name = 'refusals'").get()?.value
}

test('write() runs the operations of one turn of the event loop in one transaction, in order', async () => {
  const testWriter = openTestWriter()
  const written = await Promise.all([3, 1, 2].map(testWriter.put))
  expect(written).toEqual([3, 1, 2])
  expect(testWriter.values()).toEqual([3, 1, 2])
  expect(testWriter.batches).toHaveLength(1)
  expect(testWriter.batches[0]?.notices.map(({ payload }) => payload)).toEqual([3, 1, 2])
})

test('writeLast() runs after later operations of its transaction, and returns its own result', async () => {
  const testWriter = openTestWriter()
  const lastResult = testWriter.writer.writeLast(() => testWriter.values())
  const firstResults = [testWriter.put(1), testWriter.put(2)]
  expect(await lastResult).toEqual([1, 2])
  expect(await Promise.all(firstResults)).toEqual([1, 2])
  expect(testWriter.batches).toHaveLength(1)
})

test('write() keeps its rows if a writeLast() in the same transaction fails', async () => {
  const testWriter = openTestWriter()
  const lastResult = testWriter.writer.writeLast(() => {
    throw new Error('cannot read')
  })
  const firstResult = testWriter.put(1)
  await expect(lastResult).rejects.toThrow()
  expect(await firstResult).toBe(1)
  expect(testWriter.values()).toEqual([1])
})

test('write() limits the size of a transaction, and runs a larger operation alone', async () => {
  const testWriter = openTestWriter()
  const put = (value: number, size: number) =>
    testWriter.writer.write(batch => batch.notices.push({ topic: 'put', payload: value }), { size })
  await Promise.all([put(1, 9e6), put(2, 6e5), put(3, 4e5), put(4, 1e5), put(5, 0)])
  expect(testWriter.batches.map(({ notices }) => notices.map(({ payload }) => payload))).toEqual([[1], [2, 3], [4, 5]])
})

test('write() runs at most 256 operations in one transaction, so that they do not block the event loop', async () => {
  const testWriter = openTestWriter()
  await Promise.all(Array.from({ length: 600 }, (_, value) => testWriter.put(value)))
  expect(testWriter.batches.map(({ notices }) => notices.length)).toEqual([256, 256, 88])
  expect(totalOf(testWriter)).toBe(600)
})

test('an operation that throws leaves no rows, totals or notifications, and does not affect others', async () => {
  const testWriter = openTestWriter()
  const brokenWrite = testWriter.writer.write(batch => {
    addToTotal(batch, 'refusals', 100)
    batch.notices.push({ topic: 'put', payload: 'broken' })
    testWriter.db.exec('INSERT INTO notes (value) VALUES (99)')
    throw new Error('a bug')
  })
  const outcomes = await Promise.allSettled([testWriter.put(1), brokenWrite, testWriter.put(2), testWriter.put(1)])
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'rejected'])
  expect(outcomes[1]).toMatchObject({ reason: { message: 'a bug' } })
  expect(testWriter.values()).toEqual([1, 2])
  expect(totalOf(testWriter)).toBe(2)
  expect(testWriter.batches.flatMap(({ notices }) => notices.map(({ payload }) => payload))).toEqual([1, 2])
})

test('a failed COMMIT rejects all operations of its transaction, and the next transaction succeeds', async () => {
  const testWriter = openTestWriter()
  testWriter.db.exec(
    'PRAGMA foreign_keys = ON; CREATE TABLE parts (id INTEGER REFERENCES notes (value) DEFERRABLE INITIALLY DEFERRED)',
  )
  const orphanWrite = testWriter.writer.write(() => testWriter.db.exec('INSERT INTO parts (id) VALUES (12345)'))
  const outcomes = await Promise.allSettled([testWriter.put(1), orphanWrite])
  expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  expect(testWriter.batches).toEqual([])
  await testWriter.put(2)
  expect(testWriter.values()).toEqual([2])
})

test('on a full disk only operations that do not fit fail with Unavailable', async () => {
  const testWriter = openTestWriter()
  const pages = Number(testWriter.db.prepare('PRAGMA page_count').get()?.page_count)
  testWriter.db.exec(`PRAGMA max_page_count = ${pages + 4}`)
  const largeWrite = testWriter.writer.write(() =>
    testWriter.db.prepare('INSERT INTO notes (value, text) VALUES (9, ?)').run('x'.repeat(1e6)),
  )
  const [smallOutcome, largeOutcome] = await Promise.allSettled([testWriter.put(1), largeWrite])
  expect(smallOutcome.status).toBe('fulfilled')
  expect(largeOutcome).toMatchObject({ status: 'rejected', reason: expect.any(Unavailable) })
  expect(largeOutcome).toMatchObject({ reason: { message: 'Cannot store: the database does not take writes now' } })
  await testWriter.put(2)
  expect(testWriter.values()).toEqual([1, 2])
})

test('close() writes waiting operations and then refuses new ones', async () => {
  const testWriter = openTestWriter()
  const waiting = testWriter.put(1)
  testWriter.writer.close()
  expect(testWriter.values()).toEqual([1])
  expect(await waiting).toBe(1)
  await expect(testWriter.put(2)).rejects.toThrow('the store is closed')
})

test('write() resolves when its rows are on disk, and the next transaction does not wait for that', async () => {
  const { waiting, durability } = openSlowDisk()
  const testWriter = openTestWriter({ durability })
  const ended: string[] = []
  const firstResults = testWriter.put(1).then(() => ended.push('first'))
  await vi.waitFor(() => expect(waiting).toHaveLength(1))
  const second = testWriter.put(2).then(() => ended.push('second'))
  await vi.waitFor(() => expect(waiting).toHaveLength(2))
  expect(testWriter.values()).toEqual([1, 2])
  expect({ ended, batches: testWriter.batches }).toEqual({ ended: [], batches: [] })
  waiting[0]?.(undefined)
  await firstResults
  expect(ended).toEqual(['first'])
  expect(testWriter.batches.flatMap(({ notices }) => notices.map(({ payload }) => payload))).toEqual([1])
  waiting[1]?.(undefined)
  await second
})

test('writeLightly() waits for the disk only if an earlier write waits for it', async () => {
  const { waiting, durability } = openSlowDisk()
  const testWriter = openTestWriter({ durability })
  const ended: string[] = []
  expect(await testWriter.writer.writeLightly(() => 'leased')).toBe('leased')
  expect(waiting).toEqual([])
  const admitted = testWriter.put(1).then(() => ended.push('admitted'))
  await vi.waitFor(() => expect(waiting).toHaveLength(1))
  const leased = testWriter.writer.writeLightly(() => 'leased').then(() => ended.push('leased'))
  await new Promise(resolve => setTimeout(resolve, 20))
  expect(ended).toEqual([])
  expect(waiting).toHaveLength(1)
  waiting[0]?.(undefined)
  await Promise.all([admitted, leased])
  expect(ended).toEqual(['admitted', 'leased'])
})

test('write() rejects with Unavailable after a disk failure, and sends no notifications', async () => {
  const { waiting, durability } = openSlowDisk()
  const testWriter = openTestWriter({ durability })
  const lost = testWriter.put(1)
  await vi.waitFor(() => expect(waiting).toHaveLength(1))
  waiting[0]?.(new Error('EIO'))
  await expect(lost).rejects.toThrow(Unavailable)
  expect(testWriter.batches).toEqual([])
})

test('close() waits for the disk', async () => {
  const { waiting, durability } = openSlowDisk()
  const testWriter = openTestWriter({ durability })
  const written = testWriter.put(1)
  let isClosed = false
  const closed = testWriter.writer.close().then(() => {
    isClosed = true
  })
  await vi.waitFor(() => expect(waiting).toHaveLength(1))
  expect(isClosed).toBe(false)
  waiting[0]?.(undefined)
  await Promise.all([written, closed])
})
