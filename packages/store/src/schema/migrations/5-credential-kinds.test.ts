import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { schemaMigrations } from '../migrations.ts'

const origin = 'https://gateway.test'
const key = (...names: string[]) => JSON.stringify(names)

function openBefore(): DatabaseSync {
  const db = new DatabaseSync(':memory:')
  for (const step of schemaMigrations.slice(0, 4)) db.exec(step)
  return db
}

/** Stores a requirement for somebody, and returns who may decide it after the step. */
function moveRequirement({ channel, owner, address }: { channel: string; owner: string; address: string }): unknown {
  const db = openBefore()
  db.exec(`INSERT INTO threads (id, agent, channel, scope, key) VALUES (1, 'desk', '${channel}', 's', 'k');
    INSERT INTO tasks (id, native_id, owner, agent, context, state, updated_at)
      VALUES (1, 't1', '${owner}', 'desk', 'c', 'working', 0);`)
  db.prepare(
    "INSERT INTO messages (seq, entry_id, kind, scope, thread_id, at, author, content, task_id, envelope) VALUES (1, 'e', 'message', 's', 1, '', '{}', '[]', 1, ?)",
  ).run(JSON.stringify({ sender: { address } }))
  db.prepare(
    `INSERT INTO requirements (id, digest, agent, channel, thread_id, message, kind, subject, address, policy, issued_at, expires_at)
     VALUES ('r', 'd', 'desk', ?, 1, 1, 'unauthorized', ?, '', '{}', 0, 0)`,
  ).run(channel, key(origin, 'ann'))
  db.exec(schemaMigrations[4] ?? '')
  return db.prepare('SELECT subject FROM requirements').get()?.subject
}

/** Stores a ban of somebody, and returns for whom it holds after the step. */
function moveBan(person: string): readonly unknown[] {
  const db = openBefore()
  const insert = db.prepare(
    "INSERT INTO records (kind, owner, key, version, value, person) VALUES ('swarm-ban', 'agent:desk', ?, 1, 'true', ?)",
  )
  insert.run(key('swarm', 'guard', key(origin, 'ann')), person)
  db.exec(schemaMigrations[4] ?? '')
  return db
    .prepare('SELECT key FROM records ORDER BY id')
    .all()
    .map(row => JSON.parse(JSON.parse(String(row.key))[2]))
}

test.each([
  ['a chat token', { channel: 'web', owner: 'web:["o","ann"]', address: '@ann@web.gateway.test' }, 'chat_token'],
  ['an API key', { channel: 'a2a', owner: `${origin} api_key ann`, address: '@ann~1@gateway.test' }, 'api_key'],
  ['a client', { channel: 'a2a', owner: `${origin} client_id ann`, address: '@ann~1@gateway.test' }, 'client_id'],
])('a requirement of %s still waits for them', (_, asked, kind) => {
  expect(moveRequirement(asked)).toBe(key(kind, origin, 'ann'))
})

test.each([
  ['of a token in the chat', { channel: 'web', owner: 'web:["o","ann"]', address: '@ann@i0.web.gateway.test' }],
  ['of a token', { channel: 'a2a', owner: `${origin} sub ann`, address: '@ann@gateway.test' }],
  ['that is called like a key', { channel: 'a2a', owner: `${origin} sub x api_key y`, address: '@x~1@gateway.test' }],
])('a requirement of the subject %s keeps its key', (_, asked) => {
  expect(moveRequirement(asked)).toBe(key(origin, 'ann'))
})

test('every ban stays in force', () => {
  expect(moveBan('web @ann@web.gateway.test')).toEqual([['chat_token', origin, 'ann']])
  expect(moveBan('web @ann@i0.web.gateway.test')).toEqual([[origin, 'ann']])
  expect(moveBan('activitypub @ann@peer.test')).toEqual([[origin, 'ann']])
  expect(moveBan('a2a @ann~0123@gateway.test')).toEqual([
    [origin, 'ann'],
    ['api_key', origin, 'ann'],
    ['client_id', origin, 'ann'],
  ])
})
