import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { sqlOf } from './database.ts'
import { createUnsureLeases } from './unsure-leases.ts'

function openTurns() {
  const db = new DatabaseSync(':memory:')
  db.exec('CREATE TABLE turns (message INTEGER PRIMARY KEY, due_at INTEGER, lease_token INTEGER, lease_owner TEXT)')
  db.exec("INSERT INTO turns VALUES (1, 60, 1, 'me'), (2, 60, 1, 'me'), (3, 60, 2, 'me'), (4, 60, 1, 'other')")
  const dueAt = () =>
    db
      .prepare('SELECT due_at FROM turns ORDER BY message')
      .all()
      .map(row => row.due_at)
  return { unsure: createUnsureLeases(sqlOf(db), { table: 'turns', number: 'message' }), dueAt }
}

const broken = Promise.reject(new Error('the connection broke'))
broken.catch(() => undefined)

test('the next lease gives back what one took whose connection broke, unless somebody has it meanwhile', async () => {
  const { unsure, dueAt } = openTurns()
  const lease = unsure.watch(note => {
    for (const number of [1, 3, 4]) note({ number, token: 1, holder: 'me' })
    return broken
  })
  await expect(lease).rejects.toThrow('the connection broke')
  await unsure.watch(async () => unsure.giveBack(10))
  expect(dueAt()).toEqual([10, 60, 60, 60])
})

test('nobody gives back a lease that succeeds, nor one that failed twice', async () => {
  const { unsure, dueAt } = openTurns()
  await unsure.watch(async note => note({ number: 1, token: 1, holder: 'me' }))
  const failed = unsure.watch(note => {
    note({ number: 2, token: 1, holder: 'me' })
    return broken
  })
  await expect(failed).rejects.toThrow()
  await unsure.watch(async () => unsure.giveBack(10))
  unsure.giveBack(5)
  expect(dueAt()).toEqual([60, 10, 60, 60])
})

test('a later lease gives back what one that failed could not', async () => {
  const { unsure, dueAt } = openTurns()
  const fail = (note: (taken: { number: number; token: number; holder: string }) => void) => {
    note({ number: 1, token: 1, holder: 'me' })
    return broken
  }
  await expect(unsure.watch(fail)).rejects.toThrow()
  await expect(unsure.watch(() => broken)).rejects.toThrow()
  await unsure.watch(async () => unsure.giveBack(10))
  expect(dueAt()[0]).toBe(10)
})
