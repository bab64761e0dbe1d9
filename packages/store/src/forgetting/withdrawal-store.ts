// Forgets messages that their authors have deleted at the peer.
import type { ChannelName } from '@postern/message'
import type { Withdrawal, WithdrawalStore } from '@postern/pipeline'
import { maxRemovals } from '../messages/row-removal.ts'
import type { RelationTable } from '../peers/relations.ts'
import type { WithdrawalTable } from '../peers/withdrawals.ts'
import type { PeerBlockingDeps } from '../queue/deliveries/peer-blocking.ts'
import { createPeerBlocking } from '../queue/deliveries/peer-blocking.ts'
import type { RecordedFetchTable } from '../replay/recorded-fetches.ts'
import type { Operation } from '../sql/operation.ts'
import type { Sql } from '../sql/sql.ts'
import { createBackgroundForgetter } from '../threads/background.ts'
import type { EntryTable } from '../threads/entries.ts'
import type { StoreContext } from '../transaction/store-context.ts'
import { createAuthoredFinder } from './authored-messages.ts'
import type { ForgetMessage } from './forget-message.ts'

/** A withdrawal that concerns messages, and not only relations. */
type MessageWithdrawal = Exclude<Withdrawal, { readonly kind: 'end_relations' }>

type ListMessages = (
  withdrawal: MessageWithdrawal,
  via: ChannelName,
) => Operation<readonly { readonly number: number }[]>

interface WithdrawalDeps extends PeerBlockingDeps {
  readonly withdrawals: WithdrawalTable
  readonly relations: RelationTable
  readonly forget: ForgetMessage
  readonly entries: EntryTable
  readonly lookups: RecordedFetchTable
}

export function createWithdrawalStore(context: StoreContext, tables: WithdrawalDeps): WithdrawalStore {
  const { db, write, now } = context
  const listNextMessages = createNextMessageList(db)
  const forgetBackground = createBackgroundForgetter(db, tables, maxRemovals)
  const peerBlocking = createPeerBlocking(db, tables)

  const recordWithdrawal = (via: ChannelName, withdrawal: Withdrawal) =>
    write(function* (batch) {
      if (withdrawal.kind === 'forget') {
        tables.lookups.forgetObject(withdrawal)
        return yield* tables.withdrawals.remember(via, withdrawal, now())
      }
      if (withdrawal.kind === 'end_relations') return tables.relations.deleteRelations(via, withdrawal.peer)
      tables.relations.forgetPeer(via, withdrawal.peer)
      yield* tables.lookups.forget([withdrawal.peer])
      yield* peerBlocking.stopDeliveries(
        batch,
        { via, peer: withdrawal.peer },
        { reason: 'blocked', error: 'the recipient is gone' },
        now(),
      )
    })

  const forgetSlice = (via: ChannelName, withdrawal: MessageWithdrawal) =>
    write(function* (batch) {
      const messages = yield* listNextMessages(withdrawal, via)
      for (const { number } of messages) yield* tables.forget(batch, number, now())
      return Math.max(messages.length, yield* forgetBackground(withdrawal, via))
    })

  return {
    async withdraw(via, withdrawals) {
      for (const withdrawal of withdrawals) {
        await recordWithdrawal(via, withdrawal)
        if (withdrawal.kind === 'end_relations') continue
        while ((await forgetSlice(via, withdrawal)) === maxRemovals);
      }
    },
    findAuthored: createAuthoredFinder(db),
  }
}

function createNextMessageList(db: Sql): ListMessages {
  const select = 'SELECT seq AS number FROM messages WHERE forgotten_at IS NULL AND principal = ?'
  const listByObject = db.prepare<{ number: number }>(
    `${select} AND object = ? AND channel IN (?) LIMIT ${maxRemovals}`,
  )
  const listByPeer = db.prepare<{ number: number }>(`${select} AND channel IN (?) LIMIT ${maxRemovals}`)
  return (withdrawal, via) =>
    withdrawal.kind === 'forget'
      ? listByObject.all(withdrawal.author, withdrawal.object, via)
      : listByPeer.all(withdrawal.peer, via)
}
