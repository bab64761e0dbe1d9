import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { drawCount } from '@postern/testing/scale'
import { exchangeFormats, exportThread } from '@postern/transcript'
import { expect, test } from 'vitest'
import { createDice } from '../../test/dice.ts'
import type { MarkedPerson } from '../../test/marked-life.ts'
import { createMarked, createMarkedLife } from '../../test/marked-life.ts'
import { openStoreUnderTest } from '../../test/open-test-store.ts'
import { findInconsistencies } from '../../test/soundness.ts'
import type { GatewayStore } from '../index.ts'

const steps = 150
/** The range of seeds. A developer tries others by hand: `SEEDS=1000-2000 npx vitest run packages/store/src/forgetting/traces.test.ts`. */
const [from = 1, to = drawCount({ quick: 1, long: 3 })] = process.env.SEEDS?.split('-').map(Number) ?? []
const seeds = Array.from({ length: to - from + 1 }, (_, at) => from + at)

/** Lists the files of the store that contain a word, also in free pages and logs. */
function listFiles(file: string, word: string): readonly string[] {
  const directory = dirname(file)
  const files = readdirSync(directory, { recursive: true, withFileTypes: true }).filter(entry => entry.isFile())
  return files
    .filter(({ parentPath, name }) => name.includes(word) || readIfThere(join(parentPath, name)).includes(word))
    .map(({ name }) => name)
}

/** Reads a file if it exists, because stored files are deleted a moment after their rows. */
function readIfThere(path: string): Buffer {
  try {
    return readFileSync(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return Buffer.alloc(0)
    throw error
  }
}

/** Lists the tables that contain a word, and the files beside the database. */
function listRows(file: string, word: string): readonly string[] {
  const db = new DatabaseSync(file, { readOnly: true })
  const tables = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'").all()
  const text = (value: unknown) => (value instanceof Uint8Array ? Buffer.from(value).toString() : String(value))
  const rows = tables.filter(({ name }) =>
    db
      .prepare(`SELECT * FROM "${name}"`)
      .all()
      .some(row => Object.values(row).some(value => text(value).includes(word))),
  )
  db.close()
  return [...rows.map(({ name }) => String(name)), ...listFiles(file, word).filter(name => name !== 'postern.db')]
}

async function forget({ owner, chat, account }: MarkedPerson, store: GatewayStore): Promise<void> {
  await store.forgetTasks(owner)
  await store.transcript.forgetOwner(owner)
  await store.objects.removeObjects(owner)
  await store.records.removeOwner(owner)
  await store.forgetPerson({ addresses: [chat, account] })
}

/** Exports everything that operators can export, and everything of one person. */
async function exportAll(store: GatewayStore, { owner, mark }: MarkedPerson): Promise<string> {
  const exported: object[] = []
  const messages = await store.listMessages({ limit: 500 })
  for (const { message } of messages) exported.push((await store.findMessage(`#${message}`)) ?? {})
  const aliases = [0, 1, 2].flatMap(at => [
    { transport: 'store', key: `location ${at} of ${mark}` },
    { transport: 'web', key: JSON.stringify(['echo', `chat ${at} of ${mark}`]) },
  ])
  const numbers = Array.from({ length: 40 }, (_, number) => ({ transport: 'desk', key: String(number) }))
  const threads = [
    ...(await Promise.all(aliases.map(alias => store.transcript.findThread(owner, alias)))),
    ...(await Promise.all(numbers.map(alias => store.transcript.findThread('operator', alias)))),
  ]
  for (const thread of threads.filter(each => each !== undefined)) {
    for (const format of exchangeFormats)
      for await (const page of exportThread(thread, format, store)) exported.push(page)
  }
  return JSON.stringify(exported)
}

test.each(seeds)(
  'forgetting a person removes them from rows, exports and files, and keeps other data and counts correct (seed %i)',
  async seed => {
    const { store, file, now } = await openStoreUnderTest()
    const [ann, bob] = [createMarked('ann'), createMarked('bob')]
    const live = createMarkedLife({ store, dice: createDice(seed), now })
    for (let step = 0; step < steps; step += 1) await live([ann, bob])
    expect(listFiles(file, ann.mark)).not.toEqual([])
    const before = await exportAll(store, bob)
    await forget(ann, store)
    expect(findInconsistencies(file)).toEqual([])
    expect(await exportAll(store, ann)).not.toContain(ann.mark)
    expect(listRows(file, ann.mark)).toEqual([])
    await store.rewriteFiles()
    await expect.poll(() => listFiles(file, ann.mark)).toEqual([])
    const after = await exportAll(store, bob)
    const count = (text: string) => text.split(bob.mark).length
    expect(count(after)).toBe(count(before))
    expect(await store.transcript.readUsage(ann.owner)).toEqual({ threads: 0, entries: 0, bytes: 0 })
    await forget(bob, store)
    await store.rewriteFiles()
    // Large files beside the database are deleted once the commit is durable.
    await expect.poll(() => listFiles(file, bob.mark)).toEqual([])
    expect(findInconsistencies(file)).toEqual([])
    await store.close()
  },
  60_000,
)

test('forgetting a person overwrites their bytes at once, in the database file and its log', async () => {
  const { store, file, now } = await openStoreUnderTest()
  const [ann, bob] = [createMarked('ann'), createMarked('bob')]
  const live = createMarkedLife({ store, dice: createDice(2), now })
  for (let step = 0; step < steps; step += 1) await live([ann, bob])
  expect(listFiles(file, ann.mark)).toEqual(expect.arrayContaining(['postern.db-wal']))
  await forget(ann, store)
  expect(listFiles(file, ann.mark)).toEqual([])
  expect(listFiles(file, bob.mark)).toContain('postern.db')
  await store.close()
})
