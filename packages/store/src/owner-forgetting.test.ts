import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { DatabaseSync } from 'node:sqlite'
import { rememberedDecisionKind } from '@postern/pipeline'
import { sketchedChannels, sketchIntake } from '@postern/testing'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { openSqliteStore } from './index.ts'

const log = { debug() {}, info() {}, warn() {}, error() {} }
const ada = 'web:["https://id.test","ada"]'
const eve = 'web:["https://id.test","eve"]'
/** Runs during the removal of a file's bytes. */
let runMeanwhile = async () => {}
const bytes = { name: 'of the test', write: async () => {}, read: async () => undefined, remove: () => runMeanwhile() }

let folder: string
let store: Awaited<ReturnType<typeof openSqliteStore>>
const read = (sql: string, ...values: string[]) => {
  const db = new DatabaseSync(`${folder}/store.db`, { readOnly: true })
  const rows = db.prepare(sql).all(...values)
  db.close()
  return rows
}

beforeEach(async () => {
  folder = mkdtempSync(`${tmpdir()}/forgetting-`)
  store = await openSqliteStore({ channels: sketchedChannels, path: `${folder}/store.db`, now: Date.now, log, bytes })
})
afterEach(async () => {
  await store.close()
  rmSync(folder, { recursive: true })
})

const putFile = (owner: string, path: string, content: Uint8Array) =>
  store.objects.putObject({ bucket: 'files', path, owner, mime: 'text/plain', bytes: content })

/** Sketches a message in a run of the owner's own conversation. */
const say = (owner: string, id: string, overrides: object = {}) =>
  store.admit(
    sketchIntake(id, {
      task: { owner, id: `run of ${id}`, context: 'chat' },
      thread: { scope: owner },
      message: { received_via: 'web', thread_source: 'chat' },
      ...overrides,
    }),
    'c',
  )

describe('forgetting an owner', () => {
  test('removes only the owner’s remembered decisions', async () => {
    const subjects = ['["https://id.test","ada"]', '["https://id.test","eve"]']
    for (const subject of subjects) {
      await store.records.insert({ kind: rememberedDecisionKind, owner: 'agent:echo', key: subject }, { subject })
    }
    await store.forgetTasks(ada)
    const left = await store.records.list(rememberedDecisionKind, 'agent:echo')
    expect(left.map(({ key }) => key)).toEqual(subjects.slice(1))
  })

  test('returns the number of removed tasks', async () => {
    for (const id of ['one', 'two']) await say(ada, id)
    await say(eve, 'three')
    expect(await store.forgetTasks(ada)).toBe(2)
    expect(await store.forgetTasks(ada)).toBe(0)
  })

  test('leaves no row that refers to a removed one, even if the owner writes meanwhile', async () => {
    // Eve writes at each step of the forgetting. At one of them Ada writes, too.
    for (let step = 0; step < 6; step += 1) {
      await say(ada, `before ${step}`)
      const forgetting = store.forgetTasks(ada)
      for (let at = 0; at < 6; at += 1) {
        const word = say(eve, `${step}, ${at}`)
        await (at === step ? word.then(() => say(ada, `meanwhile ${step}`)) : word)
      }
      await forgetting
    }
    const isGone = "scope <> 'forgotten' AND thread_id NOT IN (SELECT id FROM threads)"
    expect(
      read(`SELECT seq FROM messages WHERE kind = 'message' AND thread_id NOT IN (SELECT id FROM threads)`),
    ).toEqual([])
    expect(read(`SELECT seq FROM messages WHERE ${isGone}`)).toEqual([])
    expect(
      read('SELECT seq FROM messages WHERE task_id IS NOT NULL AND task_id NOT IN (SELECT id FROM tasks)'),
    ).toEqual([])
  })
})

describe('forgetting a chat', () => {
  test('removes its files, even if somebody else sent the same bytes', async () => {
    const content = new TextEncoder().encode('the same')
    for (const owner of [ada, eve]) {
      const { digest } = await putFile(owner, `of ${owner}`, content)
      await say(owner, `from ${owner}`, { blobs: [{ digest, mime: 'text/plain', bytes: content }] })
    }
    expect(await store.forgetChat({ owner: ada, agent: 'echo', key: 'chat' })).toBe(true)
    expect(await store.objects.findObject('files', `of ${ada}`)).toBeUndefined()
    expect(await store.objects.findObject('files', `of ${eve}`)).toMatchObject({ owner: eve })
  })

  test('leaves another person’s conversation that now has its number', async () => {
    const content = new TextEncoder().encode('a file')
    const { digest } = await putFile(ada, 'one', content)
    await say(ada, 'with a file', { blobs: [{ digest, mime: 'text/plain', bytes: content }] })
    runMeanwhile = async () => {
      runMeanwhile = async () => {}
      await store.forgetTasks(ada)
      await store.admit(sketchIntake('by mail', { message: { received_via: 'email' } }), 'c')
    }
    expect(await store.forgetChat({ owner: ada, agent: 'echo', key: 'chat' })).toBe(true)
    expect(read("SELECT seq FROM messages WHERE scope = 'conversation'")).toHaveLength(1)
    expect(
      read("SELECT m.native_id AS id FROM messages m JOIN threads t ON t.id = m.thread_id WHERE m.kind = 'message'"),
    ).toEqual([{ id: 'by mail' }])
  })
})
