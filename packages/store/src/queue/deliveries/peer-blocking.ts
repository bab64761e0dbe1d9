// Ends the deliveries to a peer, and the turns of its messages.
import type { ChannelName } from '@postern/message'
import type { Operation } from '../../sql/operation.ts'
import type { Sql } from '../../sql/sql.ts'
import type { Batch } from '../../transaction/batch.ts'
import type { TurnTable } from '../turns/turn-table.ts'
import type { DeliveryTable, EndCause, OpenDelivery } from './delivery-table.ts'

interface PeerBlocking {
  /** Ends open deliveries to a peer. Without `agent`, it ends those of all agents. */
  stopDeliveries(
    batch: Batch,
    /** `isRemoved` is true if the rows of the deliveries are deleted afterwards. */
    peerFilter: { via: ChannelName; peer: string; agent?: string | undefined; isRemoved?: boolean },
    cause: EndCause,
    now: number,
  ): Operation<void>
  /** Cancels the open turns of an author's messages to an agent. */
  cancelTurns(batch: Batch, filter: { via: ChannelName; peer: string; agent: string }, now: number): Operation<void>
}

export interface PeerBlockingDeps {
  readonly turns: TurnTable
  readonly deliveries: DeliveryTable
}

export function createPeerBlocking(db: Sql, { turns, deliveries }: PeerBlockingDeps): PeerBlocking {
  const listDeliveries = db.prepare<OpenDelivery>(
    `SELECT d.number, d.thread_id, d.destination, d.state FROM deliveries d JOIN messages m ON m.seq = d.message
     WHERE d.peer = ?1 AND d.ended_at IS NULL AND m.channel IN (?2) AND (?3 IS NULL OR m.agent = ?3)`,
  )
  const listTurns = db.prepare<{ message: number }>(
    `SELECT t.message FROM messages m JOIN turns t ON t.message = m.seq
     WHERE m.principal = ?1 AND m.forgotten_at IS NULL AND m.channel IN (?2) AND m.agent = ?3 AND t.ended_at IS NULL`,
  )
  return {
    *stopDeliveries(batch, { via, peer, agent, isRemoved = false }, cause, now) {
      const endDelivery = isRemoved ? deliveries.end : deliveries.giveUp
      const openDeliveries = yield* listDeliveries.all(peer, via, agent ?? null)
      for (const openDelivery of openDeliveries) yield* endDelivery(batch, openDelivery, cause, now)
    },
    *cancelTurns(batch, { via, peer, agent }, now) {
      for (const { message } of yield* listTurns.all(peer, via, agent))
        yield* turns.cancelMessageTurn(batch, message, now)
    },
  }
}
