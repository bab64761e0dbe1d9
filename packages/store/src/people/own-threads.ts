// Lists the conversations of a person.
import type { ChannelName, Json, Part } from '@postern/message'
import { plainTextOf } from '@postern/message'
import type { OwnThread, OwnThreadFilter, OwnThreadStore } from '@postern/pipeline'
import { formatJson, parseJson } from '../sql/json-columns.ts'
import type { Operation } from '../sql/operation.ts'
import { flatMapInOrder } from '../sql/operation.ts'
import { entriesWithMessage, fromChatCondition, ownMessageCondition } from '../threads/person-messages.ts'
import type { StoreContext } from '../transaction/store-context.ts'

interface ThreadRow {
  readonly id: number
  readonly agent: string
  readonly channel: ChannelName
  readonly scope: string
  readonly key: string
  readonly begun_by: string | null
}

interface OwnEntryRow {
  readonly at: string
  readonly content: string
}

const columns = 'id, agent, channel, scope, key, begun_by'
const maxBeginningChars = 120
/** The number of newest entries of a thread among which the last entry of a person is searched. */
const maxScannedEntries = 500

type OwnThreadDeps = Pick<StoreContext, 'db' | 'channels'>

/** Creates the store of a person's own threads among all conversations of an agent. */
export function createOwnThreadStore({ db, channels }: OwnThreadDeps): OwnThreadStore {
  const { listInScopes, listStarted, find } = prepareThreadQueries({ db, channels })
  const describe = createThreadDescriber({ db, channels })
  const findTarget = db.prepare<{ target: string }>(
    `SELECT m.target FROM ${selectOwnEntries(channels)} AND e.kind = 'message' AND NOT (${fromChatCondition(channels)}) ORDER BY coalesce(e.answers, e.seq) DESC LIMIT 1`,
  )

  function* findOwnRow(filter: OwnThreadFilter, thread: number): Operation<ThreadRow | undefined> {
    const row = Number.isSafeInteger(thread) ? yield* find.get(thread, filter.agent) : undefined
    return row && isOwnThread(row, filter, channels) ? row : undefined
  }

  return {
    listOwnThreads({ agent, scopes, subjects, limit, before = Number.MAX_SAFE_INTEGER }) {
      return db.read(function* () {
        const rows = [
          ...(yield* flatMapInOrder(scopes, ({ via, scope }) =>
            listInScopes.all(scope, via, agent, before, limit + 1),
          )),
          ...(yield* flatMapInOrder(subjects, subject => listStarted.all(subject, agent, before, limit + 1))),
        ]
        const newestThreads = [...new Map(rows.map(row => [row.id, row])).values()].toSorted((a, b) => b.id - a.id)
        const page = newestThreads.slice(0, limit)
        const threads = yield* flatMapInOrder(page, row => describe(row, formatJson(subjects)))
        return { threads, next: newestThreads.length > limit ? page.at(-1)?.id : undefined }
      })
    },
    findOwnThread(filter, thread) {
      return db.read(function* () {
        const row = yield* findOwnRow(filter, thread)
        return row && (yield* describe(row, formatJson(filter.subjects)))[0]
      })
    },
    readLastTarget(filter, thread) {
      return db.read(function* () {
        const row = yield* findOwnRow(filter, thread)
        const destination = row && (yield* findTarget.get(row.id, formatJson(filter.subjects)))
        return destination && parseJson<Json>(destination.target)
      })
    },
  }
}

function prepareThreadQueries({ db, channels }: OwnThreadDeps) {
  return {
    listInScopes: db.prepare<ThreadRow>(
      `SELECT ${columns} FROM threads WHERE scope <> 'public' AND lower(scope) = lower(?1) AND channel = ?2 AND agent = ?3
       AND (${channels.sql.caseInsensitiveCondition('channel')} OR scope = ?1) AND id < ?4 ORDER BY id DESC LIMIT +?5`,
    ),
    listStarted: db.prepare<ThreadRow>(
      `SELECT ${columns} FROM threads WHERE begun_by = ? AND agent = ? AND id < ? ORDER BY id DESC LIMIT +?`,
    ),
    find: db.prepare<ThreadRow>(`SELECT ${columns} FROM threads WHERE id = ? AND agent = ?`),
  }
}

/** Formats the SQL that selects the messages of the principals ?2 in the thread ?1, and the answers to these messages. */
function selectOwnEntries(channels: StoreContext['channels']): string {
  return `${entriesWithMessage} WHERE e.thread_id = ?1 AND e.scope = 'conversation' AND ${ownMessageCondition('?2', channels)}`
}

/**
 * Prepares the description of a thread for its owner. The description is empty if the owner has no message in the thread. `subjects` is a JSON list of
 * the owner's principals.
 */
function createThreadDescriber({ db, channels }: OwnThreadDeps) {
  const ownEntries = selectOwnEntries(channels)
  const findFirstEntry = db.prepare<OwnEntryRow>(
    `SELECT e.at, e.content FROM ${ownEntries} AND e.kind = 'message' ORDER BY coalesce(e.answers, e.seq) LIMIT 1`,
  )
  const findScanStart = db.prepare<{ position: number }>(
    `SELECT coalesce(answers, seq) AS position FROM messages WHERE thread_id = ? AND scope = 'conversation'
     ORDER BY coalesce(answers, seq) DESC LIMIT 1 OFFSET ${maxScannedEntries - 1}`,
  )
  const findLastEntry = db.prepare<OwnEntryRow>(
    `SELECT e.at, '' AS content FROM ${ownEntries} AND coalesce(e.answers, e.seq) >= ?3
     ORDER BY coalesce(e.answers, e.seq) DESC, e.seq DESC LIMIT 1`,
  )
  return function* (
    { id, channel: via, scope, key, begun_by }: ThreadRow,
    subjects: string,
  ): Operation<readonly OwnThread[]> {
    const firstEntry = yield* findFirstEntry.get(id, subjects)
    if (!firstEntry) return []
    const lastEntry =
      (yield* findLastEntry.get(id, subjects, (yield* findScanStart.get(id))?.position ?? 0)) ?? firstEntry
    const beginning = plainTextOf(parseJson<readonly Part[]>(firstEntry.content)).trim().slice(0, maxBeginningChars)
    const position = { id, via, scope, key, isShared: begun_by !== null }
    return [{ ...position, begunAt: firstEntry.at, lastAt: lastEntry.at, beginning: beginning.toWellFormed() }]
  }
}

/** Returns true if the person began the thread, or the thread is in a scope of theirs. */
function isOwnThread(
  { channel: via, scope, begun_by }: ThreadRow,
  { scopes, subjects }: OwnThreadFilter,
  channels: StoreContext['channels'],
): boolean {
  if (begun_by && subjects.includes(begun_by)) return true
  const isSameScope = (otherScope: string) =>
    otherScope === scope || (channels.ignoresCase(via) && otherScope.toLowerCase() === scope.toLowerCase())
  return scope !== 'public' && scopes.some(ownScope => ownScope.via === via && isSameScope(ownScope.scope))
}
