import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { runNow } from '../sql/operation.ts'
import { createSqliteSql } from '../sql/sqlite-sql.ts'
import type { InDoubtPoll } from './in-doubt-leases.ts'
import { createInDoubtLeases } from './in-doubt-leases.ts'

function openTurns() {
  const db = new DatabaseSync(':memory:')
  db.exec(
    'CREATE TABLE turns (message INTEGER PRIMARY KEY, due_at INTEGER, lease_token INTEGER, lease_owner TEXT, ended_at INTEGER)',
  )
  db.exec(
    "INSERT INTO turns VALUES (1, 60, 1, 'me', NULL), (2, 60, 1, 'me', NULL), (3, 60, 2, 'me', NULL), (4, 60, 1, 'other', NULL)",
  )
  const dueAt = () =>
    db
      .prepare('SELECT due_at FROM turns ORDER BY message')
      .all()
      .map(row => row.due_at)
  return { leases: createInDoubtLeases(createSqliteSql(db), { table: 'turns', idColumn: 'message' }), dueAt, db }
}

const broken = Promise.reject(new Error('the connection broke'))
broken.catch(() => undefined)

test('makeWorkDue() makes work due whose lease failed with its connection, unless another worker has leased it', async () => {
  const { leases, dueAt } = openTurns()
  const lease = leases.track(({ recordLease }) => {
    for (const number of [1, 3, 4]) recordLease({ workNumber: number, token: 1, holder: 'me', expiresAt: 60 })
    return broken
  })
  await expect(lease).rejects.toThrow('the connection broke')
  await leases.track(async poll => runNow(poll.makeWorkDue(10)))
  expect(dueAt()).toEqual([10, 60, 60, 60])
})

test('makeWorkDue() ignores a successful lease, and releases a failed lease only once', async () => {
  const { leases, dueAt } = openTurns()
  await leases.track(async ({ recordLease }) => recordLease({ workNumber: 1, token: 1, holder: 'me', expiresAt: 60 }))
  const failed = leases.track(({ recordLease }) => {
    recordLease({ workNumber: 2, token: 1, holder: 'me', expiresAt: 60 })
    return broken
  })
  await expect(failed).rejects.toThrow()
  await leases.track(async poll => runNow(poll.makeWorkDue(10)))
  await leases.track(async poll => runNow(poll.makeWorkDue(5)))
  expect(dueAt()).toEqual([60, 10, 60, 60])
})

test('makeWorkDue() releases a lease in doubt after a poll that failed, too', async () => {
  const { leases, dueAt } = openTurns()
  const fail = ({ recordLease }: InDoubtPoll) => {
    recordLease({ workNumber: 1, token: 1, holder: 'me', expiresAt: 60 })
    return broken
  }
  await expect(leases.track(fail)).rejects.toThrow()
  await expect(leases.track(() => broken)).rejects.toThrow()
  await leases.track(async poll => runNow(poll.makeWorkDue(10)))
  expect(dueAt()[0]).toBe(10)
})

const leaseInDoubt = { workNumber: 2, token: 1, holder: 'me', expiresAt: 60 }

test('makeWorkDue() finds a lease that the server stored late, until the lease expires', async () => {
  const { leases, dueAt, db } = openTurns()
  db.exec('UPDATE turns SET lease_token = 0 WHERE message = 2')
  leases.add(leaseInDoubt)
  await leases.track(async poll => runNow(poll.makeWorkDue(10)))
  // The server had completed its commit.
  db.exec('UPDATE turns SET lease_token = 1 WHERE message = 2')
  await leases.track(async poll => runNow(poll.makeWorkDue(20)))
  expect(dueAt()[1]).toBe(20)
  db.exec('UPDATE turns SET due_at = 60 WHERE message = 2')
  leases.add(leaseInDoubt)
  await leases.track(async poll => runNow(poll.makeWorkDue(61)))
  expect(dueAt()[1]).toBe(60)
})

test('makeWorkDue() keeps work that the poll has leased again with the token of the lost lease', async () => {
  const { leases, dueAt, db } = openTurns()
  db.exec('UPDATE turns SET lease_token = 0 WHERE message = 2')
  leases.add(leaseInDoubt)
  await leases.track(async ({ recordLease, makeWorkDue }) => {
    runNow(makeWorkDue(10))
    db.exec('UPDATE turns SET lease_token = 1 WHERE message = 2')
    recordLease(leaseInDoubt)
  })
  await leases.track(async poll => runNow(poll.makeWorkDue(20)))
  expect(dueAt()[1]).toBe(60)
})

test('makeWorkDue() keeps a lease that differs only in its expiry', async () => {
  const { leases, dueAt, db } = openTurns()
  leases.add(leaseInDoubt)
  db.exec('UPDATE turns SET due_at = 70 WHERE message = 2')
  await leases.track(async poll => runNow(poll.makeWorkDue(10)))
  expect(dueAt()[1]).toBe(70)
})
