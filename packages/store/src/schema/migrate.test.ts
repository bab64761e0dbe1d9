import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { migrateDatabase, migrations } from './migrate.ts'

/** A file as the first schema left it, with an answered post in it. */
function openFirst(visibility: string, answered: string | undefined): DatabaseSync {
  const db = new DatabaseSync(':memory:')
  db.exec(migrations[0] ?? '')
  db.exec('PRAGMA user_version = 1')
  const envelope = JSON.stringify(answered === undefined ? {} : { visibility: answered })
  const parts = JSON.stringify([{ kind: 'file', bytes_ref: { kind: 'content_addressed', digest: 'attached' } }])
  db.exec(`
    INSERT INTO threads VALUES (1, 'echo', 'activitypub', 'public', 'key');
    INSERT INTO entries VALUES (1, 'e1', 'm1', 1, NULL, 'conversation', 'user', NULL, '{}', '${parts}', 'now');
    INSERT INTO messages VALUES (1, 'm1', 'echo', 'activitypub', 1, NULL, 'm1', NULL, 'c', '{}', '[]', NULL,
      '${JSON.stringify({ visibility })}', 'json', 'large', NULL);
    INSERT INTO entries VALUES (2, 'e2', 'r1', 1, NULL, 'conversation', 'assistant', 1, '{}', '[]', 'now');
    INSERT INTO responses VALUES (2, 1, 'r1', 'echo', 'activitypub', '${envelope}');`)
  return db
}

test.each([
  ['public', undefined, 1],
  ['unlisted', 'public', 1],
  ['public', 'direct', 0],
  ['direct', undefined, 0],
])('what everybody could read before is listed and counted: a %s post answered %s', (visibility, answered, total) => {
  const db = openFirst(visibility, answered)
  migrateDatabase(db)
  expect(db.prepare('SELECT listed FROM responses').get()).toEqual({ listed: total })
  const counted = db.prepare("SELECT value FROM agent_totals WHERE agent = 'echo' AND name = 'listed'").get()
  expect(counted?.value ?? 0).toBe(total)
})

test('bytes kept before are known to be needed', () => {
  const db = openFirst('public', undefined)
  migrateDatabase(db)
  expect(db.prepare('SELECT digest FROM blob_uses WHERE message = 1 ORDER BY digest').all()).toEqual([
    { digest: 'attached' },
    { digest: 'large' },
  ])
})

test('what was said in tasks before counts among the bytes of their owner', () => {
  const db = openFirst('public', undefined)
  db.exec(`
    INSERT INTO tasks VALUES (7, 'ada', 'task 1', 'echo', 'ctx', 'completed', 0, 2);
    UPDATE entries SET task_id = 7, content = '[]';
    UPDATE messages SET task_id = 7, raw = x'010203';
    INSERT INTO blobs VALUES ('large', NULL, x'01020304');`)
  migrateDatabase(db)
  expect(db.prepare('SELECT owner, bytes FROM task_bytes').all()).toEqual([{ owner: 'ada', bytes: 2 + 2 + 3 + 4 }])
})

test('who began a conversation with others before is known as the one who began it', () => {
  const db = openFirst('public', undefined)
  const envelope = (sender: string) => JSON.stringify({ sender: { address: sender } })
  db.exec(`
    INSERT INTO threads VALUES (2, 'echo', 'email', 'v:group 00', 'mail'), (3, 'echo', 'email', 'v:ann@mail.test', 'alone');
    INSERT INTO entries VALUES (5, 'e5', 'm5', 2, NULL, 'conversation', 'user', NULL, '{}', '[]', 'now'),
      (6, 'e6', 'm6', 2, NULL, 'conversation', 'user', NULL, '{}', '[]', 'now'),
      (7, 'e7', 'm7', 3, NULL, 'conversation', 'user', NULL, '{}', '[]', 'now');`)
  for (const [number, thread, sender] of [
    [5, 2, '@Ann@mail.test'],
    [6, 2, '@bob@mail.test'],
    [7, 3, '@ann@mail.test'],
  ] as const) {
    db.exec(`INSERT INTO messages VALUES (${number}, 'm${number}', 'echo', 'email', ${thread}, NULL, 'm${number}', NULL, 'c',
      '${envelope(sender)}', '[]', NULL, 'null', 'text', NULL, NULL)`)
  }
  migrateDatabase(db)
  expect(db.prepare("SELECT key, begun_by FROM threads WHERE via = 'email' ORDER BY id").all()).toEqual([
    { key: 'mail', begun_by: 'mailto:ann@mail.test' },
    { key: 'alone', begun_by: null },
  ])
})
