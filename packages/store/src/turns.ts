import type { DatabaseSync } from 'node:sqlite'
import type { MessageState, Turn, WorkDesk } from '@postern/core'
import type { Batch } from './batch.ts'
import { moveTotal } from './batch.ts'
import { formatJson, prepareQuery } from './database.ts'
import { refuseLostLease } from './lease.ts'
import { takeShares } from './shares.ts'
import type { Store } from './store.ts'
import type { Tables } from './tables.ts'

interface DueTurn {
  readonly message: number
  readonly agent: string
  readonly state: MessageState
  readonly token: number
  readonly attempt: number
  readonly unended: number
  readonly task_id: number | null
}

/** Turns are taken up here, in the order they fell due, and given back. */
export function createTurnLeases(
  { db, write, writeLightly, now }: Store,
  tables: Tables,
): Pick<WorkDesk, 'leaseTurns' | 'release'> & { readonly renewTurn: (turn: Turn, leaseMs: number) => Promise<void> } {
  const findDue = prepareQuery<DueTurn>(
    db,
    `SELECT message, agent, state, token, attempt, unended, task_id FROM turns
     WHERE due_at <= ? AND agent NOT IN (SELECT value FROM json_each(?)) ORDER BY due_at LIMIT +?`,
  )
  const claim = prepareQuery(
    db,
    `UPDATE turns SET state = 'working', due_at = ?, token = token + 1, attempt = attempt + 1, unended = unended + 1, holder = ?
     WHERE message = ?`,
  )
  const renew = prepareQuery(db, 'UPDATE turns SET due_at = ? WHERE message = ? AND token = ? AND holder IS NOT NULL')

  function claimTurn(batch: Batch, due: DueTurn, { holder, until }: { holder: string; until: number }): Turn {
    claim.run(until, holder, due.message)
    moveTotal(batch, `messages.${due.state}`, 'messages.working')
    if (due.task_id !== null) tables.tasks.setWorking(due.task_id, now())
    return toTurn(tables, due)
  }

  return {
    leaseTurns: ({ holder, limit, leaseMs, shares }) =>
      writeLightly(batch => {
        const until = now() + leaseMs
        const claimed: Turn[] = []
        takeShares(
          { limit, shares },
          {
            find: (full, rest) => findDue.all(now(), formatJson(full), rest),
            claim: due => claimed.push(claimTurn(batch, due, { holder, until })),
            groupOf: ({ agent }) => agent,
          },
        )
        return claimed
      }),
    release: createRelease(db, write),
    renewTurn: async ({ message, token }, leaseMs) =>
      refuseLostLease(await writeLightly(() => renew.run(now() + leaseMs, message, token).changes), `turn ${message}`),
  }
}

function toTurn({ readMessage }: Tables, { message, token, attempt, unended }: DueTurn): Turn {
  const { agent, via, content, thread, target, flags, correlationId, task } = readMessage(message)
  const held = { message, token: token + 1, attempt: attempt + 1, crashes: unended }
  return { ...held, agent, via, content, thread, target, flags, correlationId, task }
}

function createRelease(db: DatabaseSync, write: Store['write']): WorkDesk['release'] {
  const giveBack = prepareQuery(
    db,
    `UPDATE turns SET state = 'received', due_at = ?, attempt = attempt - ?, unended = 0, holder = NULL, error = coalesce(?, error)
     WHERE message = ? AND token = ? AND holder IS NOT NULL`,
  )
  return async ({ message, token }, { dueAt, error, uncounted }) => {
    const given = await write(batch => {
      const { changes } = giveBack.run(dueAt, uncounted ? 1 : 0, error ?? null, message, token)
      if (changes > 0) moveTotal(batch, 'messages.working', 'messages.received')
      // Also for a time yet to come: whoever waits for the next due time has to look again.
      batch.hasReadyWork = true
      return changes
    })
    refuseLostLease(given, `turn ${message}`)
  }
}
