import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { migrateDatabase } from '../../schema/migrate.ts'
import type { FileDatabase } from '../../sql/file-sql.ts'
import { createSqliteSql } from '../../sql/sqlite-sql.ts'
import type { StoreContext } from '../../transaction/store-context.ts'
import { createWhyRecords } from './why-records.ts'

function openCounted() {
  const db = new DatabaseSync(':memory:', { enableForeignKeyConstraints: false })
  migrateDatabase(db)
  const envelope = JSON.stringify({
    sender: { address: '@a@b.test' },
    recipient: '@echo@b.test',
    received_at: '2026-01-01T00:00:00Z',
  })
  const insert = db.prepare(
    `INSERT INTO messages (entry_id, native_id, kind, scope, thread_id, agent, channel, at, author, content, envelope, correlation_id)
     VALUES (?1, ?1, 'message', 'conversation', 1, 'echo', 'email', '', '{}', '[]', ?2, 'c')`,
  )
  for (let count = 0; count < 200; count += 1) insert.run(`m${count}`, envelope)
  let asked = 0
  const counted = {
    prepare(sql: string) {
      const query = db.prepare(sql)
      return {
        all: (...values: never[]) => {
          asked += 1
          return query.all(...values)
        },
      }
    },
  }
  const context = {
    db: createSqliteSql(counted as unknown as FileDatabase),
    now: () => 0,
    isSoleWriter: true,
  } as unknown as StoreContext
  return { ...createWhyRecords(context), countAsked: () => asked }
}

test('the reasons of a page cost as many statements as those of one message', async () => {
  const one = openCounted()
  expect(await one.listWhyRecords([7])).toHaveLength(1)
  const page = openCounted()
  const numbers = Array.from({ length: 200 }, (_, at) => 200 - at)
  const records = await page.listWhyRecords(numbers)
  expect(records.map(({ message }) => message.number)).toEqual(numbers)
  expect([one.countAsked(), page.countAsked()]).toEqual([4, 4])
})
