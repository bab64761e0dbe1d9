import type { ChannelName, Intake } from '@postern/core'
import type { Database } from '../engine/database.ts'
import { prepareInsert, prepareQuery } from '../engine/database.ts'

/** Names mean something within one agent, one channel and one scope; outside of it they are unknown. */
interface NameScope {
  readonly agent: string
  readonly channel: string
  readonly scope: string
}

/** What was said, by the ids it is known by: a message, or our answer to it. */
export interface Naming {
  readonly message: number
  readonly id: string
  readonly aliases: readonly string[]
}

export interface ThreadTable {
  /** The thread a message belongs to: the first known of its references decides, else the thread id it came with. */
  place(intake: Intake): number
  /** The same, where there is one. */
  find(intake: Intake): number | undefined
  /** The scope a thread lives in. */
  scopeOf(thread: number): NameScope
  /** Names already taken keep their thread: nobody can pull a conversation over to another. */
  addNames(thread: number, scope: NameScope, naming: Naming): void
  /** The same in the scope that the thread lives in. */
  addAnswerNames(thread: number, naming: Naming): void
}

export function createThreadTable(db: Database): ThreadTable {
  const inScope = 'SELECT thread_id FROM thread_aliases WHERE name = ? AND agent = ? AND channel = ? AND scope = ?'
  const findByName = prepareQuery<{ thread_id: number }>(db, `${inScope} ORDER BY is_key LIMIT 1`)
  const findByKey = prepareQuery<{ thread_id: number }>(db, `${inScope} AND is_key = 1`)
  const findScope = prepareQuery<NameScope>(db, 'SELECT agent, channel, scope FROM threads WHERE id = ?')
  const insertThread = prepareInsert(
    db,
    'INSERT INTO threads (key, agent, channel, scope, begun_by) VALUES (?, ?, ?, ?, ?)',
  )
  const isThere = prepareQuery(db, 'SELECT 1 FROM threads WHERE id = ? AND agent = ? AND channel = ? AND key = ?')
  const intoNames = 'INTO thread_aliases (name, agent, channel, scope, is_key, thread_id, message)'
  const values = 'VALUES (?, ?, ?, ?, ?, ?, ?)'
  const ofThread = 'SELECT ?1, agent, channel, scope, 0, id, CAST(?2 AS INTEGER) FROM threads WHERE id = ?3'
  const knownIs = 'ON CONFLICT (name, agent, channel, scope, is_key) DO UPDATE SET message = excluded.message'
  const insertName = prepareQuery(db, `INSERT OR IGNORE ${intoNames} ${values}`)
  const insertId = prepareQuery(db, `INSERT ${intoNames} ${values} ${knownIs}`)
  const insertAnswerName = prepareQuery(db, `INSERT OR IGNORE ${intoNames} ${ofThread}`)
  const insertAnswerId = prepareQuery(db, `INSERT ${intoNames} ${ofThread} ${knownIs}`)

  function findReferenced(references: readonly string[], { agent, channel, scope }: NameScope): number | undefined {
    for (const reference of references) {
      const known = findByName.get(reference, agent, channel, scope)
      if (known) return known.thread_id
    }
    return undefined
  }

  function findThread(intake: Intake): number | undefined {
    if (intake.thread.joined) return findJoined(intake)
    const inside = nameScopeOf(intake)
    const known = findReferenced(intake.thread.references, inside)
    return known ?? findByKey.get(intake.message.thread_id, inside.agent, inside.channel, inside.scope)?.thread_id
  }

  function findJoined({ agent, thread: { joined } }: Intake): number | undefined {
    return joined && isThere.get(joined.id, agent, joined.via, joined.key) ? joined.id : undefined
  }

  function insertNew({ message: { thread_id: key }, thread: { begunBy } }: Intake, place: NameScope): number {
    const { agent, channel, scope } = place
    const thread = insertThread(key, agent, channel, scope, begunBy ?? null)
    insertName.run(key, agent, channel, scope, 1, thread, null)
    return thread
  }

  return {
    place: intake => findThread(intake) ?? insertNew(intake, nameScopeOf(intake)),
    find: findThread,
    scopeOf(thread) {
      const row = findScope.get(thread)
      if (!row) throw new Error(`there is no thread ${thread}`)
      return row
    },
    addNames(thread, { agent, channel, scope }, { message, id, aliases }) {
      insertId.run(id, agent, channel, scope, 0, thread, message)
      for (const alias of aliases) insertName.run(alias, agent, channel, scope, 0, thread, null)
    },
    addAnswerNames(thread, { message, id, aliases }) {
      insertAnswerId.run(id, message, thread)
      for (const alias of aliases) insertAnswerName.run(alias, null, thread)
    },
  }
}

/** The channel a message is answered by. */
export function viaOf({ message, thread }: Pick<Intake, 'message' | 'thread'>): ChannelName {
  return thread.joined?.via ?? message.received_via
}

export function nameScopeOf({ agent, message, thread }: Intake): NameScope {
  return { agent, channel: message.received_via, scope: thread.scope }
}
