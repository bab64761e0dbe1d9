import type { ChannelName, Intake, LookupStore } from '@postern/core'
import type { Query, Sql } from '../engine/database.ts'
import { parseJson, prepareInsert } from '../engine/database.ts'

/** Names mean something within one agent, one channel and one scope; outside of it they are unknown. */
interface NameScope {
  readonly agent: string
  readonly channel: string
  readonly scope: string
}

/** What was said, by the ids it is known by: a message, or our answer to it. */
interface Naming {
  readonly message: number
  readonly id: string
  readonly aliases: readonly string[]
}

/** `key`: of a thread that has just begun, whose name is still to be written. */
export interface PlacedThread {
  readonly thread: number
  readonly key?: string
}

export interface ThreadTable {
  /** `thread`: what `find` says of the message; undefined: a new one begins. */
  place(intake: Intake, thread: number | undefined): PlacedThread
  /** The thread a message belongs to: the first known of its references decides, else the thread id it came with. */
  find(intake: Intake): number | undefined
  /** The scope a thread lives in. */
  scopeOf(thread: number): NameScope
  /** Names already taken keep their thread: nobody can pull a conversation over to another. */
  addNames(place: PlacedThread, scope: NameScope, naming: Naming): void
  /** The same in the scope that the thread lives in. */
  addAnswerNames(thread: number, naming: Naming): void
}

export function createThreadTable(db: Sql): ThreadTable {
  const inScope = 'SELECT thread_id FROM thread_aliases WHERE name = ? AND agent = ? AND channel = ? AND scope = ?'
  const findByName = db.prepare<{ thread_id: number }>(`${inScope} ORDER BY is_key LIMIT 1`)
  const findByKey = db.prepare<{ thread_id: number }>(`${inScope} AND is_key = 1`)
  const findScope = db.prepare<NameScope>('SELECT agent, channel, scope FROM threads WHERE id = ?')
  const insertThread = prepareInsert(
    db,
    'INSERT INTO threads (key, agent, channel, scope, begun_by) VALUES (?, ?, ?, ?, ?)',
  )
  const isThere = db.prepare('SELECT 1 FROM threads WHERE id = ? AND agent = ? AND channel = ? AND key = ?')
  const insertNames = createNameInserter(db)
  const insertAnswerNames = createAnswerNameInserter(db)

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

  function insertNew({ message: { thread_id: key }, thread: { begunBy } }: Intake, scope: NameScope): PlacedThread {
    const thread = insertThread(key, scope.agent, scope.channel, scope.scope, begunBy ?? null)
    return { thread, key }
  }

  return {
    place(intake, thread) {
      return thread === undefined ? insertNew(intake, nameScopeOf(intake)) : { thread }
    },
    find: findThread,
    scopeOf(thread) {
      const row = findScope.get(thread)
      if (!row) throw new Error(`there is no thread ${thread}`)
      return row
    },
    addNames({ thread, key }, scope, naming) {
      const begins = key === undefined ? [] : [{ name: key, isKey: true, message: null }]
      insertNames(thread, scope, [...begins, ...namesOf(naming)])
    },
    addAnswerNames: (thread, naming) => insertAnswerNames(thread, namesOf(naming)),
  }
}

interface NameRow {
  readonly name: string
  readonly isKey?: boolean
  readonly message: number | null
}

function namesOf({ message, id, aliases }: Naming): readonly NameRow[] {
  const others = new Set(aliases)
  others.delete(id)
  return [{ name: id, message }, ...[...others].map(name => ({ name, message: null }))]
}

const namesInto = 'INSERT INTO thread_aliases (name, agent, channel, scope, is_key, thread_id, message)'
/** What has a name keeps its thread; an id tells its message. */
const knownKeep =
  'ON CONFLICT (name, agent, channel, scope, is_key) DO UPDATE SET message = coalesce(excluded.message, thread_aliases.message)'

/** Rows that one statement takes: most messages have two or three names. */
const mostTogether = 4

function createNameInserter(db: Sql): (thread: number, scope: NameScope, rows: readonly NameRow[]) => void {
  const insert = prepareForRows(count =>
    db.prepare(`${namesInto} VALUES ${placedName.repeat(count).slice(2)} ${knownKeep}`),
  )
  return (thread, { agent, channel, scope }, rows) => {
    for (const some of sliceRows(rows)) {
      const values = some.flatMap(({ name, isKey, message }) => [
        name,
        agent,
        channel,
        scope,
        isKey ? 1 : 0,
        thread,
        message,
      ])
      insert[some.length - 1]?.run(...values)
    }
  }
}

/** In the scope of their thread. */
function createAnswerNameInserter(db: Sql): (thread: number, rows: readonly NameRow[]) => void {
  const insert = prepareForRows(count =>
    db.prepare(
      `${namesInto} SELECT v.column1, t.agent, t.channel, t.scope, 0, t.id, v.column2
       FROM (VALUES ${namedAnswer.repeat(count).slice(2)}) v JOIN threads t ON t.id = ? WHERE true ${knownKeep}`,
    ),
  )
  return (thread, rows) => {
    for (const some of sliceRows(rows)) {
      const values = some.flatMap(({ name, message }) => [name, message])
      insert[some.length - 1]?.run(...values, thread)
    }
  }
}

const placedName = ', (?, ?, ?, ?, ?, ?, ?)'
const namedAnswer = ', (CAST(? AS TEXT), CAST(? AS INTEGER))'

function prepareForRows(prepare: (count: number) => Query): readonly Query[] {
  return Array.from({ length: mostTogether }, (_, index) => prepare(index + 1))
}

function sliceRows(rows: readonly NameRow[]): readonly (readonly NameRow[])[] {
  const count = Math.ceil(rows.length / mostTogether)
  return Array.from({ length: count }, (_, at) => rows.slice(at * mostTogether, (at + 1) * mostTogether))
}

/** The channel a message is answered by. */
export function viaOf({ message, thread }: Pick<Intake, 'message' | 'thread'>): ChannelName {
  return thread.joined?.via ?? message.received_via
}

export function nameScopeOf({ agent, message, thread }: Intake): NameScope {
  return { agent, channel: message.received_via, scope: thread.scope }
}

/** Finds a message by a name of its thread's. */
export function createMessageLookup(db: Sql): Pick<LookupStore, 'findMessageTo'> {
  const find = db.prepare<{ message: number; channel: ChannelName; target: string }>(
    `SELECT m.seq AS message, m.channel, m.target FROM thread_aliases n JOIN messages m ON m.seq = n.message AND m.native_id = n.name AND m.kind = 'message'
     WHERE n.name = ? AND n.agent = ? AND m.forgotten_at IS NULL ORDER BY m.seq DESC LIMIT 1`,
  )
  return {
    async findMessageTo(agent, id) {
      const row = find.get(id, agent)
      return row && { message: row.message, via: row.channel, target: parseJson(row.target) }
    },
  }
}
