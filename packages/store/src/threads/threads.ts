// Finds and begins threads, and finds messages by their names.
import { randomUUID } from 'node:crypto'
import type { ChannelName } from '@postern/message'
import type { Intake, LookupStore } from '@postern/pipeline'
import { parseJson } from '../sql/json-columns.ts'
import { prepareForRows, repeatRow } from '../sql/multi-row.ts'
import type { Operation } from '../sql/operation.ts'
import type { Query, Sql } from '../sql/sql.ts'

/** The agent, channel and scope within which a name is unique. */
interface NameScope {
  readonly agent: string
  readonly channel: string
  readonly scope: string
}

/** The names of a message or of its answer. */
interface MessageNames {
  readonly message: number
  readonly id: string
  readonly aliases: readonly string[]
}

/** The ids of a thread. Messages refer to the thread by its `key`, and agents by its `public_id`. */
export interface ThreadIds {
  readonly key: string
  /** Null for a thread that is older than these ids. Agents use its key instead. */
  readonly public_id: string | null
}

/** The thread to which a message was assigned. `newThread` contains the ids of a new thread, whose key the caller must still add to the names. */
export interface AssignedThread {
  readonly thread: number
  readonly newThread?: ThreadIds
}

/** Returns the id of a thread for agents. It is random, so that only people with access to the thread know it. */
export function publicIdOf({ key, public_id }: ThreadIds): string {
  return public_id ?? key
}

export interface ThreadTable {
  /** Assigns a message to the thread that `find` has found, or begins a thread if `thread` is undefined. */
  assignThread(intake: Intake, thread: number | undefined): Operation<AssignedThread>
  /** Finds the thread of a message by the first of its references that is a name, or else by its `thread_source`. */
  find(intake: Intake): Operation<number | undefined>
  /** Finds the thread like `find`, but not by the `thread_source`. `selectThreadOfKey` reads that as a part of another statement. */
  findReferenced(intake: Intake): Operation<number | undefined>
  /** Returns the scope of a thread. */
  scopeOf(thread: number): Operation<NameScope>
  /** Adds names to a thread. Existing names keep their thread, so that nobody can move a conversation to another one. */
  addNames(position: AssignedThread, scope: NameScope, messageNames: MessageNames): void
  /** Adds the names of an answer in the scope of its thread. */
  addAnswerNames(thread: number, naming: MessageNames): void
}

export function createThreadTable(db: Sql): ThreadTable {
  const findScope = db.prepare<NameScope>('SELECT agent, channel, scope FROM threads WHERE id = ?')
  const insertThread = db.prepareInsert(
    'INSERT INTO threads (key, public_id, agent, channel, scope, begun_by) VALUES (?, ?, ?, ?, ?, ?)',
  )
  const insertNames = createNameInserter(db)
  const insertAnswerNames = createAnswerNameInserter(db)

  function* insertNew(
    { message: { thread_source: key }, thread: { begunBy } }: Intake,
    scope: NameScope,
  ): Operation<AssignedThread> {
    const public_id = randomUUID()
    const thread = yield* insertThread(key, public_id, scope.agent, scope.channel, scope.scope, begunBy ?? null)
    return { thread, newThread: { key, public_id } }
  }

  return {
    *assignThread(intake, thread) {
      return thread === undefined ? yield* insertNew(intake, nameScopeOf(intake)) : { thread }
    },
    ...createThreadFinder(db),
    *scopeOf(thread) {
      const row = yield* findScope.get(thread)
      if (!row) throw new Error(`there is no thread ${thread}`)
      return row
    },
    addNames({ thread, newThread }, scope, naming) {
      const keyNames = newThread ? [{ name: newThread.key, isKey: true, message: null }] : []
      insertNames(thread, scope, [...keyNames, ...listNameRows(naming)])
    },
    addAnswerNames: (thread, naming) => insertAnswerNames(thread, listNameRows(naming)),
  }
}

const selectByName = 'SELECT thread_id FROM thread_aliases WHERE name = ? AND agent = ? AND channel = ? AND scope = ?'

/** Returns the thread of a message's `thread_source` as a column of a SELECT. The arguments are the parameters of the statement. */
export function selectThreadOfKey({ agent, channel, scope, key }: NameScope & Pick<ThreadIds, 'key'>): string {
  return `(SELECT thread_id FROM thread_aliases
    WHERE name = ${key} AND agent = ${agent} AND channel = ${channel} AND scope = ${scope} AND is_key = 1)`
}

/** Prepares the search for the thread of a message. */
function createThreadFinder(db: Sql): Pick<ThreadTable, 'find' | 'findReferenced'> {
  const findByName = db.prepare<{ thread_id: number }>(`${selectByName} ORDER BY is_key LIMIT 1`)
  const findByKey = db.prepare<{ thread_id: number }>(`${selectByName} AND is_key = 1`)
  const threadExists = db.prepare('SELECT 1 FROM threads WHERE id = ? AND agent = ? AND channel = ? AND key = ?')

  function* findByReference(
    references: readonly string[],
    { agent, channel, scope }: NameScope,
  ): Operation<number | undefined> {
    for (const reference of references) {
      const alias = yield* findByName.get(reference, agent, channel, scope)
      if (alias) return alias.thread_id
    }
    return undefined
  }

  function* findJoined({ agent, thread: { joined } }: Intake): Operation<number | undefined> {
    return joined && (yield* threadExists.get(joined.id, agent, joined.via, joined.key)) ? joined.id : undefined
  }

  function* findReferenced(intake: Intake): Operation<number | undefined> {
    const { joined, references } = intake.thread
    return joined ? yield* findJoined(intake) : yield* findByReference(references, nameScopeOf(intake))
  }

  return {
    findReferenced,
    *find(intake) {
      const thread = yield* findReferenced(intake)
      if (thread !== undefined || intake.thread.joined) return thread
      const { agent, channel, scope } = nameScopeOf(intake)
      return (yield* findByKey.get(intake.message.thread_source, agent, channel, scope))?.thread_id
    },
  }
}

interface NameRow {
  readonly name: string
  readonly isKey?: boolean
  readonly message: number | null
}

function listNameRows({ message, id, aliases }: MessageNames): readonly NameRow[] {
  const otherNames = new Set(aliases)
  otherNames.delete(id)
  return [{ name: id, message }, ...[...otherNames].map(name => ({ name, message: null }))]
}

const insertNamesSql = 'INSERT INTO thread_aliases (name, agent, channel, scope, is_key, thread_id, message)'
/** The conflict clause of the insertion. An existing name keeps its thread, and gets the message if there is one. */
const onNameConflict =
  'ON CONFLICT (name, agent, channel, scope, is_key) DO UPDATE SET message = coalesce(excluded.message, thread_aliases.message)'

function createNameInserter(db: Sql): (thread: number, scope: NameScope, rows: readonly NameRow[]) => void {
  const insertRows = prepareForRows<Query, NameRow>(rowCount =>
    db.prepare(`${insertNamesSql} VALUES ${repeatRow('(?, ?, ?, ?, ?, ?, ?)', rowCount)} ${onNameConflict}`),
  )
  return (thread, { agent, channel, scope }, rows) =>
    insertRows(rows, (insert, slice) => {
      const values = slice.flatMap(({ name, isKey, message }) => [
        name,
        agent,
        channel,
        scope,
        isKey ? 1 : 0,
        thread,
        message,
      ])
      insert.run(...values)
    })
}

/** Prepares the insertion of names in the scope of their thread. */
function createAnswerNameInserter(db: Sql): (thread: number, rows: readonly NameRow[]) => void {
  const insertRows = prepareForRows<Query, NameRow>(rowCount =>
    db.prepare(
      `${insertNamesSql} SELECT v.column1, t.agent, t.channel, t.scope, 0, t.id, v.column2
       FROM (VALUES ${repeatRow('(CAST(? AS TEXT), CAST(? AS INTEGER))', rowCount)}) v JOIN threads t ON t.id = ? WHERE true ${onNameConflict}`,
    ),
  )
  return (thread, rows) =>
    insertRows(rows, (insert, slice) => {
      const values = slice.flatMap(({ name, message }) => [name, message])
      insert.run(...values, thread)
    })
}

/** Returns the channel on which a message is answered. */
export function viaOf({ message, thread }: Pick<Intake, 'message' | 'thread'>): ChannelName {
  return thread.joined?.via ?? message.received_via
}

export function nameScopeOf({ agent, message, thread }: Intake): NameScope {
  return { agent, channel: message.received_via, scope: thread.scope }
}

/** Prepares the search for the newest message to an agent with an id. */
export function createMessageLookup(db: Sql): Pick<LookupStore, 'findMessageTo'> {
  const find = db.prepare<{ message: number; channel: ChannelName; target: string }>(
    `SELECT m.seq AS message, m.channel, m.target FROM thread_aliases n JOIN messages m ON m.seq = n.message AND m.native_id = n.name AND m.kind = 'message'
     WHERE n.name = ? AND n.agent = ? AND m.forgotten_at IS NULL ORDER BY m.seq DESC LIMIT 1`,
  )
  return {
    findMessageTo(agent, id) {
      return db.read(function* () {
        const row = yield* find.get(id, agent)
        return row && { message: row.message, via: row.channel, target: parseJson(row.target) }
      })
    },
  }
}
