import type { DatabaseSync } from 'node:sqlite'
import type { Intake } from '@postern/core'
import { prepareQuery } from './database.ts'

export interface ThreadTable {
  /** The thread a message belongs to: the first known of its references decides, else the thread id it came with. */
  place(intake: Intake): { readonly thread: number; readonly key: string }
  /** Names already taken keep their thread: nobody can pull a conversation over to another. */
  addAliases(thread: number, aliases: readonly string[]): void
}

interface ThreadRow {
  readonly id: number
  readonly key: string
}

export function createThreadTable(db: DatabaseSync): ThreadTable {
  const findByName = prepareQuery<ThreadRow>(
    db,
    `SELECT t.id, t.key FROM thread_aliases a JOIN threads t ON t.id = a.thread_id
       WHERE a.agent = ?1 AND a.via = ?2 AND a.scope = ?3 AND a.alias = ?4
     UNION ALL
     SELECT id, key FROM threads WHERE agent = ?1 AND via = ?2 AND scope = ?3 AND key = ?4
     LIMIT 1`,
  )
  const findByKey = prepareQuery<ThreadRow>(
    db,
    'SELECT id, key FROM threads WHERE agent = ? AND via = ? AND scope = ? AND key = ?',
  )
  const insertThread = prepareQuery(db, 'INSERT INTO threads (agent, via, scope, key) VALUES (?, ?, ?, ?)')
  const insertAlias = prepareQuery(
    db,
    `INSERT OR IGNORE INTO thread_aliases (agent, via, scope, alias, thread_id)
     SELECT agent, via, scope, ?2, id FROM threads WHERE id = ?1 AND key <> ?2`,
  )

  function findReferenced({ agent, message, thread }: Intake): ThreadRow | undefined {
    for (const reference of thread.references) {
      const known = findByName.get(agent, message.received_via, thread.scope, reference)
      if (known) return known
    }
    return undefined
  }

  return {
    place(intake) {
      const { agent, message, thread } = intake
      const place = [agent, message.received_via, thread.scope, message.thread_id] as const
      const known = findReferenced(intake) ?? findByKey.get(...place)
      if (known) return { thread: known.id, key: known.key }
      return { thread: insertThread.run(...place).lastInsertRowid, key: message.thread_id }
    },
    addAliases(thread, aliases) {
      for (const alias of aliases) insertAlias.run(thread, alias)
    },
  }
}
