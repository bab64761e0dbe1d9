import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { sqlOf } from '../sql/sql.ts'
import { createBatch } from '../transaction/batch.ts'
import type { UnsurePoll } from './unsure-leases.ts'
import { createUnsureLeases } from './unsure-leases.ts'

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
  return { unsure: createUnsureLeases(sqlOf(db), { table: 'turns', number: 'message' }), dueAt, db }
}

const batch = createBatch()

const broken = Promise.reject(new Error('the connection broke'))
broken.catch(() => undefined)

test('the next lease gives back what one took whose connection broke, unless somebody has it meanwhile', async () => {
  const { unsure, dueAt } = openTurns()
  const lease = unsure.watch(({ note }) => {
    for (const number of [1, 3, 4]) note({ number, token: 1, holder: 'me', until: 60 })
    return broken
  })
  await expect(lease).rejects.toThrow('the connection broke')
  await unsure.watch(async poll => poll.giveBack(batch, 10))
  expect(dueAt()).toEqual([10, 60, 60, 60])
})

test('nobody gives back a lease that succeeds, nor one that failed twice', async () => {
  const { unsure, dueAt } = openTurns()
  await unsure.watch(async ({ note }) => note({ number: 1, token: 1, holder: 'me', until: 60 }))
  const failed = unsure.watch(({ note }) => {
    note({ number: 2, token: 1, holder: 'me', until: 60 })
    return broken
  })
  await expect(failed).rejects.toThrow()
  await unsure.watch(async poll => poll.giveBack(batch, 10))
  await unsure.watch(async poll => poll.giveBack(batch, 5))
  expect(dueAt()).toEqual([60, 10, 60, 60])
})

test('a later lease gives back what one that failed could not', async () => {
  const { unsure, dueAt } = openTurns()
  const fail = ({ note }: UnsurePoll) => {
    note({ number: 1, token: 1, holder: 'me', until: 60 })
    return broken
  }
  await expect(unsure.watch(fail)).rejects.toThrow()
  await expect(unsure.watch(() => broken)).rejects.toThrow()
  await unsure.watch(async poll => poll.giveBack(batch, 10))
  expect(dueAt()[0]).toBe(10)
})

const lost = { number: 2, token: 1, holder: 'me', until: 60 }

test('a lease that comes late goes back once it is there, as long as it lasts', async () => {
  const { unsure, dueAt, db } = openTurns()
  db.exec('UPDATE turns SET lease_token = 0 WHERE message = 2')
  unsure.add(lost)
  await unsure.watch(async poll => poll.giveBack(batch, 10))
  // The server had completed its commit.
  db.exec('UPDATE turns SET lease_token = 1 WHERE message = 2')
  await unsure.watch(async poll => poll.giveBack(batch, 20))
  expect(dueAt()[1]).toBe(20)
  db.exec('UPDATE turns SET due_at = 60 WHERE message = 2')
  unsure.add(lost)
  await unsure.watch(async poll => poll.giveBack(batch, 61))
  expect(dueAt()[1]).toBe(60)
})

test('nobody gives back work that they have leased anew, though it may have the token of the lost lease', async () => {
  const { unsure, dueAt, db } = openTurns()
  db.exec('UPDATE turns SET lease_token = 0 WHERE message = 2')
  unsure.add(lost)
  await unsure.watch(async ({ note, giveBack }) => {
    giveBack(batch, 10)
    db.exec('UPDATE turns SET lease_token = 1 WHERE message = 2')
    note(lost)
  })
  await unsure.watch(async poll => poll.giveBack(batch, 20))
  expect(dueAt()[1]).toBe(60)
})

test('nobody gives back a lease that somebody knows of, though all but its end is the same', async () => {
  const { unsure, dueAt, db } = openTurns()
  unsure.add(lost)
  db.exec('UPDATE turns SET due_at = 70 WHERE message = 2')
  await unsure.watch(async poll => poll.giveBack(batch, 10))
  expect(dueAt()[1]).toBe(70)
})
