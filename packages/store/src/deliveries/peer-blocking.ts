import type { ChannelName } from '@postern/core'
import type { Batch, Sql } from '../engine/database.ts'
import type { TurnTable } from '../turns/table.ts'
import type { DeliveryTable, OpenDelivery } from './queue.ts'

interface PeerBlocking {
  /** Nothing that waits goes to this peer any more, from one agent or, without one, from anybody. */
  stopDeliveries(
    batch: Batch,
    to: { via: ChannelName; peer: string; agent?: string | undefined },
    error: string,
    now: number,
  ): void
  /** The agent answers nothing of this author that it has not answered yet. */
  cancelTurns(batch: Batch, of: { via: ChannelName; peer: string; agent: string }, now: number): void
}

export interface PeerBlockingDeps {
  readonly turns: TurnTable
  readonly deliveries: DeliveryTable
}

export function createPeerBlocking(db: Sql, { turns, deliveries }: PeerBlockingDeps): PeerBlocking {
  const findDeliveries = db.prepare<OpenDelivery>(
    `SELECT d.number, d.thread_id, d.destination, d.state FROM deliveries d JOIN messages m ON m.seq = d.message
     WHERE d.peer = ?1 AND d.ended_at IS NULL AND m.channel IN (?2) AND (?3 IS NULL OR m.agent = ?3)`,
  )
  const findTurns = db.prepare<{ message: number }>(
    `SELECT t.message FROM messages m JOIN turns t ON t.message = m.seq
     WHERE m.principal = ?1 AND m.forgotten_at IS NULL AND m.channel IN (?2) AND m.agent = ?3 AND t.ended_at IS NULL`,
  )
  return {
    stopDeliveries(batch, { via, peer, agent }, error, now) {
      for (const open of findDeliveries.all(peer, via, agent ?? null)) deliveries.giveUp(batch, open, error, now)
    },
    cancelTurns(batch, { via, peer, agent }, now) {
      for (const { message } of findTurns.all(peer, via, agent)) turns.cancelOf(batch, message, now)
    },
  }
}
