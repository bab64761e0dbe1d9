import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { createSqliteSql } from '../sql/sqlite-sql.ts'
import { loadRareKeys } from './rare-keys.ts'

function openPeers(...names: readonly (readonly [string, string])[]) {
  const db = new DatabaseSync(':memory:')
  db.exec('CREATE TABLE peers (agent TEXT, name TEXT)')
  for (const name of names) db.prepare('INSERT INTO peers VALUES (?, ?)').run(...name)
  return createSqliteSql(db)
}

const sql = 'SELECT agent, name FROM peers'

test('mayHave() returns true for a key from the start or a later note, and false otherwise', () => {
  const keys = loadRareKeys(openPeers(['echo', 'ann']), sql, { isSoleWriter: true })
  expect(keys.mayHave(['echo', 'ann'])).toBe(true)
  expect(keys.mayHave(['echo', 'bob'])).toBe(false)
  expect(keys.mayHave(['ann', 'echo'])).toBe(false)
  keys.add(['echo', 'bob'])
  expect(keys.mayHave(['echo', 'bob'])).toBe(true)
})

test('mayHave() returns true for every key if other processes also write', () => {
  const keys = loadRareKeys(openPeers(), sql, { isSoleWriter: false })
  expect(keys.mayHave(['echo', 'ann'])).toBe(true)
})

test('mayHave() returns true for every key once keys are no longer rare', () => {
  const keys = loadRareKeys(openPeers(), sql, { isSoleWriter: true })
  for (let at = 0; at < 100_001; at += 1) keys.add(['echo', `peer ${at}`])
  expect(keys.mayHave(['echo', 'nobody'])).toBe(true)
})
