import type { ChannelName, Withdrawal, WithdrawalStore } from '@postern/core'
import { createBackgroundForgetting } from '../conversations/background.ts'
import type { EntryTable } from '../conversations/entries.ts'
import type { PeerBlockingDeps } from '../deliveries/peer-blocking.ts'
import { createPeerBlocking } from '../deliveries/peer-blocking.ts'
import type { Sql } from '../engine/database.ts'
import type { StoreContext } from '../engine/store-context.ts'
import type { RelationTable, WithdrawalTable } from '../peers/senders.ts'
import { createAuthoredFinder } from '../peers/senders.ts'
import type { LookupTable } from '../replay/lookups.ts'
import type { ForgetMessage } from './forget.ts'

/** Messages, and as much background, forgotten in one transaction at most, so that others get their turn. */
const sliceSize = 200

/** What takes messages back, and not only relations. */
type Forgetting = Exclude<Withdrawal, { readonly kind: 'end_relations' }>

type Find = (withdrawal: Forgetting, via: ChannelName) => readonly { readonly number: number }[]

interface WithdrawalDeps extends PeerBlockingDeps {
  readonly withdrawals: WithdrawalTable
  readonly relations: RelationTable
  readonly forget: ForgetMessage
  readonly entries: EntryTable
  readonly lookups: LookupTable
}

export function createWithdrawalStore(context: StoreContext, tables: WithdrawalDeps): WithdrawalStore {
  const { db, write, now } = context
  const findNext = createNextFinder(db)
  const forgetBackground = createBackgroundForgetting(db, tables, sliceSize)
  const peerBlocking = createPeerBlocking(db, tables)

  const announce = (via: ChannelName, withdrawal: Withdrawal) =>
    write(batch => {
      if (withdrawal.kind === 'forget') {
        tables.lookups.forgetObject(withdrawal)
        return tables.withdrawals.remember(via, withdrawal, now())
      }
      if (withdrawal.kind === 'end_relations') return tables.relations.endRelations(via, withdrawal.peer)
      tables.relations.forgetPeer(via, withdrawal.peer)
      tables.lookups.forget([withdrawal.peer])
      peerBlocking.stopDeliveries(batch, { via, peer: withdrawal.peer }, 'the recipient is gone', now())
    })

  const forgetSlice = (via: ChannelName, withdrawal: Forgetting) =>
    write(batch => {
      const next = findNext(withdrawal, via)
      for (const { number } of next) tables.forget(batch, number, now())
      return Math.max(next.length, forgetBackground(withdrawal, via))
    })

  return {
    async withdraw(via, withdrawals) {
      for (const withdrawal of withdrawals) {
        await announce(via, withdrawal)
        if (withdrawal.kind === 'end_relations') continue
        while ((await forgetSlice(via, withdrawal)) === sliceSize);
      }
    },
    findAuthored: createAuthoredFinder(db),
  }
}

function createNextFinder(db: Sql): Find {
  const select = 'SELECT seq AS number FROM messages WHERE forgotten_at IS NULL AND principal = ?'
  const ofObject = db.prepare<{ number: number }>(`${select} AND object = ? AND channel IN (?) LIMIT ${sliceSize}`)
  const ofPeer = db.prepare<{ number: number }>(`${select} AND channel IN (?) LIMIT ${sliceSize}`)
  return (withdrawal, via) =>
    withdrawal.kind === 'forget'
      ? ofObject.all(withdrawal.author, withdrawal.object, via)
      : ofPeer.all(withdrawal.peer, via)
}
