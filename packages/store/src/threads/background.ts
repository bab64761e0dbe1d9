// Stores the background of a conversation, which a channel has fetched.
import type { ChannelName } from '@postern/message'
import type { BackgroundEntry, Turn, Withdrawal, WorkStore } from '@postern/pipeline'
import { beginningOf } from '@postern/pipeline'
import type { WithdrawalTable } from '../peers/withdrawals.ts'
import { refuseLostLease } from '../queue/lost-lease.ts'
import { formatJson } from '../sql/json-columns.ts'
import type { Operation } from '../sql/operation.ts'
import type { Sql } from '../sql/sql.ts'
import type { StoreContext } from '../transaction/store-context.ts'
import type { EntryTable, StoredEntryDraft } from './entries.ts'
import type { ThreadTable } from './threads.ts'

interface BackgroundDraft {
  readonly source: BackgroundEntry
  readonly entry: StoredEntryDraft
}

export interface BackgroundDeps {
  readonly withdrawals: WithdrawalTable
  readonly entries: EntryTable
  readonly threads: ThreadTable
}

/**
 * Creates the store of background, which consists of earlier posts of a conversation that a channel has fetched. An entry is placed after all earlier
 * messages and before the message of the turn, so that the history that an agent has seen does not change.
 */
export function createBackgroundStore(
  { db, write, now }: StoreContext,
  tables: BackgroundDeps,
): Pick<WorkStore, 'addBackground' | 'hasEntry'> {
  const selectLease = db.prepare(
    'SELECT 1 FROM turns WHERE message = ? AND lease_token = ? AND lease_owner IS NOT NULL',
  )
  const position = 'coalesce(answers, seq)'
  const findPosition = db.prepare<{ position: number | null }>(
    `SELECT max(${position}) AS position FROM messages WHERE thread_id = ? AND scope = 'conversation' AND ${position} < ?`,
  )
  const insert = db.prepare(
    'INSERT INTO fetched_context (seq, thread_id, channel, object, principal) VALUES (?, ?, ?, ?, ?)',
  )
  const insertName = createAliasInsert(db)
  const hasEntry = createEntryCheck(db)

  function* addDraft(turn: Turn, { source, entry }: BackgroundDraft, answers: number): Operation<void> {
    const { thread, via } = turn
    const { nativeId, principal, isQuoted } = source
    if (yield* hasEntry(turn, nativeId)) return
    const authorship = { author: principal ?? '', object: nativeId }
    if (yield* tables.withdrawals.has(via, authorship, now())) return
    const seq = yield* tables.entries.append(entry, { thread, answers })
    insert.run(seq, thread, via, nativeId, principal ?? null)
    if (!isQuoted) insertName(turn, (yield* tables.threads.scopeOf(thread)).scope, nativeId)
  }

  return {
    async addBackground(turn, entries) {
      const drafts = entries.map(draftEntry)
      const leasedTurns = await write(function* () {
        if (!(yield* selectLease.get(turn.message, turn.token))) return 0
        const answers = (yield* findPosition.get(turn.thread, beginningOf(turn)))?.position ?? 0
        for (const draft of drafts) yield* addDraft(turn, draft, answers)
        return 1
      })
      refuseLostLease(leasedTurns, `turn ${turn.message}`)
    },
    hasEntry: (turn, id) => db.read(() => hasEntry(turn, id)),
  }
}

function draftEntry(source: BackgroundEntry): BackgroundDraft {
  const { nativeId, author, parts, at } = source
  const columns = { author: formatJson(author), content: formatJson(parts), at }
  return { source, entry: { nativeId, scope: 'conversation', kind: 'context', ...columns } }
}

/** Creates the check whether a thread already has a post, as a message or as background. The same post may be in several threads. */
function createEntryCheck(db: Sql): (turn: Turn, id: string) => Operation<boolean> {
  const findName = db.prepare(
    'SELECT 1 FROM thread_aliases WHERE name = ? AND agent = ? AND channel = ? AND is_key = 0 AND thread_id = ?',
  )
  const findBackground = db.prepare('SELECT 1 FROM fetched_context WHERE object = ? AND thread_id = ?')
  return function* ({ agent, via, thread }, id) {
    return (
      (yield* findName.get(id, agent, via, thread)) !== undefined ||
      (yield* findBackground.get(id, thread)) !== undefined
    )
  }
}

/** Prepares the insertion of the names by which later replies find the thread. An existing name keeps its thread. */
function createAliasInsert(db: Sql): (turn: Turn, scope: string, name: string) => void {
  const insert = db.prepare(
    'INSERT OR IGNORE INTO thread_aliases (name, agent, channel, scope, is_key, thread_id, message) VALUES (?, ?, ?, ?, 0, ?, NULL)',
  )
  return ({ agent, via, thread }, scope, name) => void insert.run(name, agent, via, scope, thread)
}

/** Deletes background that its author has withdrawn, up to a limit of entries. @returns the number of deleted entries */
type DeleteBackground = (withdrawal: Withdrawal, via: ChannelName) => Operation<number>

export function createBackgroundForgetter(
  db: Sql,
  { entries }: Pick<BackgroundDeps, 'entries'>,
  limit: number,
): DeleteBackground {
  const select = 'SELECT seq FROM fetched_context WHERE principal = ?'
  const listByObject = db.prepare<{ seq: number }>(`${select} AND object = ? AND channel = ? LIMIT ${limit}`)
  const listByPeer = db.prepare<{ seq: number }>(`${select} AND channel = ? LIMIT ${limit}`)
  // The row stays, so that the deleted entry is not added again.
  const clearPrincipal = db.prepare('UPDATE fetched_context SET principal = NULL WHERE seq = ?')
  return function* (withdrawal, via) {
    const rows =
      withdrawal.kind === 'forget'
        ? yield* listByObject.all(withdrawal.author, withdrawal.object, via)
        : yield* listByPeer.all(withdrawal.peer, via)
    for (const { seq } of rows) {
      entries.erase(seq)
      clearPrincipal.run(seq)
    }
    return rows.length
  }
}
