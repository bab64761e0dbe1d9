import { Unavailable } from '@postern/message'
import { sketchAnswer, sketchedChannels, sketchIntake } from '@postern/testing'
import { expect, test } from 'vitest'
import { discardLog } from '../../../test/open-test-store.ts'
import { assembleStore } from '../../assemble.ts'
import { noBlobFiles } from '../../files/blob-files.ts'
import { createSqliteSql } from '../../sql/sqlite-sql.ts'
import { openDatabase } from '../../sqlite/open-database.ts'
import { createSqliteTransactions } from '../../sqlite/write/transactions.ts'
import { createWriter } from '../../sqlite/write/writer.ts'
import { createNotices } from '../../transaction/notice-hub.ts'

/** Opens a store whose next commits fail, as if the connection broke before the server received them. */
function openStore() {
  const db = openDatabase(':memory:')
  const disk = { isAway: false }
  const transactions = createSqliteTransactions(db)
  const commit = () => {
    if (disk.isAway) throw new Unavailable('Cannot store: the database does not answer now')
    transactions.commit()
  }
  const store = assembleStore({
    db: createSqliteSql(db),
    channels: sketchedChannels,
    handledSecret: 'secret',
    openWriter: hooks => createWriter(db, hooks, { ...transactions, commit }),
    isSoleWriter: false,
    files: noBlobFiles,
    notices: createNotices(discardLog),
    now: () => 1_000,
    log: discardLog,
    bytes: undefined,
    onDurable() {},
    release: () => db.close(),
  })
  return { store, disk }
}

test('a delivery whose lease failed leaves once, even if one transaction then leases both ranks', async () => {
  const { store, disk } = openStore()
  await store.admit(sketchIntake('m1'), 'c')
  const [turn] = await store.leaseTurns({ holder: 'me', limit: 1, leaseMs: 30_000 })
  if (!turn) throw new Error('no turn is due')
  await store.commit(turn, sketchAnswer(turn, 'Good day.', ['https://peer.test/inbox']))
  const lease = (rank: 'answer' | 'broadcast') =>
    store.leaseDeliveries({ holder: 'me', limit: 9, leaseMs: 30_000, rank })
  disk.isAway = true
  await expect(lease('answer')).rejects.toThrow(Unavailable)
  disk.isAway = false
  const [answers, broadcasts] = await Promise.all([lease('answer'), lease('broadcast')])
  expect([answers.length, broadcasts.length]).toEqual([1, 0])
  expect(await lease('answer')).toEqual([])
  await store.close()
})
