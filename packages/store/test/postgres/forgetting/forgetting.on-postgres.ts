import { expect, test } from 'vitest'
import { createDice } from '../../dice.ts'
import type { MarkedPerson } from '../../marked-life.ts'
import { createMarked, createMarkedLife } from '../../marked-life.ts'
import { openPostgresTestStore, schemaOf } from '../open-postgres-test-store.ts'
import { askServer } from '../test-server.ts'

/** Lists the tables that contain a word. */
async function listTables(schema: string, word: string): Promise<readonly string[]> {
  const tables = await askServer<{ name: string }>(
    `SELECT tablename AS name FROM pg_tables WHERE schemaname = '${schema}'`,
  )
  const nonEmptyTables: string[] = []
  for (const { name } of tables) {
    const asHex = Buffer.from(word).toString('hex')
    const where = `position('${word}' IN r::text) > 0 OR position('${asHex}' IN r::text) > 0`
    const rows = await askServer(`SELECT 1 FROM "${name}" r WHERE ${where} LIMIT 1`, schema)
    if (rows.length > 0) nonEmptyTables.push(name)
  }
  return nonEmptyTables
}

test('forgetting a person leaves nothing of them in any table', async () => {
  const { store, url, now } = await openPostgresTestStore()
  const schema = schemaOf(url)
  const [ann, bob] = [createMarked('ann'), createMarked('bob')]
  const live = createMarkedLife({ store, dice: createDice(1), now })
  for (let step = 0; step < 150; step += 1) await live([ann, bob])
  expect(await listTables(schema, ann.mark)).toContain('messages')
  const forget = async ({ owner, chat, account }: MarkedPerson) => {
    await store.forgetTasks(owner)
    await store.transcript.forgetOwner(owner)
    await store.objects.removeObjects(owner)
    await store.records.removeOwner(owner)
    await store.forgetPerson({ addresses: [chat, account] })
  }
  const readNames = async () => JSON.stringify([await store.readOtherPeople(), await store.readSenders(0)])
  expect(await readNames()).toContain(ann.mark)
  await forget(ann)
  expect(await readNames()).not.toContain(ann.mark)
  expect(await listTables(schema, ann.mark)).toEqual([])
  expect(await listTables(schema, bob.mark)).toContain('messages')
  await store.close()
}, 60_000)
