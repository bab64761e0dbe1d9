import { DatabaseSync } from 'node:sqlite'
import { sketchIntake } from '@postern/testing'
import { expect, test } from 'vitest'
import { collectStatements } from '../../../test/collect-statements.ts'
import { openStoreUnderTest } from '../../../test/open-test-store.ts'

const authorship = { author: 'https://peer.test/ada', object: 'note' }

/** Returns the condition of the statement with which the store replaces the content of earlier messages. */
async function findReplacementCondition(): Promise<string> {
  const replacement = (await collectStatements()).find(sql => sql.startsWith('UPDATE messages SET content = CASE'))
  return /WHERE (principal = [\s\S]*) RETURNING/.exec(replacement ?? '')?.[1] ?? 'no statement'
}

async function openEditedMessage() {
  const { store, file } = await openStoreUnderTest()
  await store.admit(sketchIntake('m', { authorship, message: { thread_source: 't' } }), 'c')
  const edit = (number: number) =>
    store.admit(sketchIntake(`e${number}`, { authorship, message: { thread_source: 't', kind: 'edit' } }), 'c')
  const condition = await findReplacementCondition()
  /** Counts the rows that the next edit reads before it knows which of them to replace. */
  const countReadRows = () => {
    using db = new DatabaseSync(file, { readOnly: true })
    let readRows = 0
    db.function('was_read', _seq => {
      readRows += 1
      return 1
    })
    const { author, object } = authorship
    db.prepare(`SELECT ?1, ?2 FROM messages WHERE was_read(seq) AND ${condition}`).all(
      ...[null, null, author, object, 'a2a', 'echo', Number.MAX_SAFE_INTEGER],
    )
    return readRows
  }
  return { store, edit, countReadRows }
}

test('the 2000th edit of a waiting message reads as many rows as the second', async () => {
  const { edit, countReadRows } = await openEditedMessage()
  await edit(1)
  expect(countReadRows()).toBe(2)
  await Promise.all(Array.from({ length: 1998 }, (_, at) => edit(at + 2)))
  expect(countReadRows()).toBe(2)
})

test('an edit of an answered message reads as many rows after many edits as after one', async () => {
  const { store, edit, countReadRows } = await openEditedMessage()
  const answer = async () => {
    for (const turn of await store.leaseTurns({ holder: 'worker', limit: 1, leaseMs: 60_000 }))
      await store.commit(turn, { deliveries: [] })
  }
  await answer()
  for (let number = 1; number <= 100; number += 1) {
    await edit(number)
    await answer()
    expect(countReadRows()).toBe(2)
  }
})
