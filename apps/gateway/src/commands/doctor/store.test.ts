import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { checkStore } from './store.ts'

const checkIn = (directory: string) => checkStore({ store: 'sqlite' }, { directory, now: Date.now })

test('doctor reads the whole database, and says that it is damaged and how to go on', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'postern-check-'))
  const path = join(directory, 'postern.db')
  expect(await checkIn(directory)).toMatchObject({ severity: 'ok' })
  const db = new DatabaseSync(path)
  db.exec(`CREATE TABLE t (text TEXT); WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
    INSERT INTO t SELECT i || hex(randomblob(20)) FROM n`)
  db.close()
  expect(await checkIn(directory)).toMatchObject({ severity: 'ok', message: expect.stringContaining('sound') })
  writeFileSync(path, readFileSync(path).fill(0xee, 8_192))
  expect(await checkIn(directory)).toMatchObject({
    severity: 'error',
    message: expect.stringContaining('is damaged'),
    fix: expect.stringContaining('Put it back from a backup'),
  })
})
