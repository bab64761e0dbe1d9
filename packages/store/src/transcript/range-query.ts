// Reads ranges of a transcript thread.
import type { EntryRange, TranscriptEntry } from '@postern/transcript'
import { countFitting } from '@postern/transcript'
import { formatJson } from '../sql/json-columns.ts'
import type { Operation } from '../sql/operation.ts'
import type { Query, Sql, SqlValue } from '../sql/sql.ts'
import type { TranscriptEntryTable, TranscriptRow } from './entry-table.ts'
import { transcriptColumns } from './entry-table.ts'

/** The maximum number of values for which the query has a branch each. For more values, the query filters the whole thread. */
const maxBranches = 64

/** The branches of a UNION. Each branch uses an index, so the cost of a page does not depend on the length of the thread. */
interface UnionBranches {
  readonly condition: string
  readonly values: readonly string[]
  /** The column by which the branches select. */
  readonly column?: FilterColumn
  /** The index to use. Without this hint SQLite would read the whole thread after the page. */
  readonly index?: string
}

type FilterColumn = 'scope' | 'kind' | 'agent_key'

/** Creates the reader of ranges of a thread. It prepares a statement once for each shape of a request. */
export function createRangeReader(
  db: Sql,
  { readRows }: Pick<TranscriptEntryTable, 'readRows'>,
): (thread: number, range: EntryRange) => Operation<readonly TranscriptEntry[]> {
  const compiledQueries = new Map<string, Query<TranscriptRow>>()
  const prepare = (sql: string) => {
    const preparedQuery = compiledQueries.get(sql)
    if (preparedQuery) return preparedQuery
    const query = db.prepare<TranscriptRow>(sql)
    compiledQueries.set(sql, query)
    return query
  }
  return function* readRange(thread, range): Operation<readonly TranscriptEntry[]> {
    const size = range.tail ?? range.limit
    const branches = chooseBranches(range)
    if (size === 0 || branches.values.length === 0) return []
    const isBackward = range.tail !== undefined
    const values = branches.values.flatMap(branchValue =>
      bindBranch(thread, range, { ...branches, value: branchValue }),
    )
    let limit = size ?? -1
    if (range.max_bytes !== undefined) {
      const column = range.is_exact ? exactSizeColumn : sizeColumn
      const sizes = yield* prepare(formatQuery(range, branches, isBackward, column)).all(...values, limit)
      limit = countFitting(
        sizes.map(row => (row as unknown as { bytes: number }).bytes),
        range,
      )
    }
    const rows = yield* prepare(formatQuery(range, branches, isBackward)).all(...values, limit)
    const entries = yield* readRows(isBackward ? rows.reverse() : rows, range.is_exact)
    const lastRow = rows.at(-1)
    if (entries.length > 0 || !lastRow || isBackward || range.chat) return entries
    // The page has only forgotten entries, so the result begins with the next page.
    return yield* readRange(thread, { ...range, after_seq: lastRow.seq })
  }
}

/** Chooses the branches of a query. A single branch with the value `''` selects the whole thread. */
function chooseBranches({ agent_keys, scopes, chat }: EntryRange): UnionBranches {
  const keys = agent_keys && [...new Set(agent_keys)]
  if (keys && keys.length <= maxBranches) return createBranches('agent_key', keys, chat)
  if (scopes && !keys) return createBranches('scope', [...new Set(scopes)], chat)
  return { condition: "'' = ?", values: [''] }
}

const indexes = { agent_key: 'transcript_entries_agent', scope: 'transcript_entries_scope' } as const

/** Builds a branch for each value. Positions in the chat have a separate index. */
function createBranches(column: keyof typeof indexes, values: readonly string[], isChat = false): UnionBranches {
  return { condition: `e.${column} = ?`, values, column, ...(!isChat && { index: indexes[column] }) }
}

/** Formats the SQL of the size of an entry, which does not read the content. A message of the store counts once for all its pieces. */
const formatSize = (storedSizeSql: string) =>
  `CASE WHEN e.piece > 0 THEN 256 ELSE coalesce(octet_length(e.body), (SELECT ${storedSizeSql} FROM messages s
   WHERE s.seq = e.store_seq), 0) END AS bytes`
const sizeColumn = formatSize('octet_length(s.content)')
const exactSizeColumn =
  formatSize(`octet_length(s.content) + coalesce(octet_length(s.envelope), 0) + coalesce(octet_length(s.raw),
   (SELECT u.bytes FROM blob_uses u WHERE u.message = s.seq AND u.digest = s.raw_digest), 0)`)

function formatQuery(
  range: EntryRange,
  { condition, values, column, index }: UnionBranches,
  isBackward: boolean,
  columns = transcriptColumns,
): string {
  const positionColumn = range.chat ? 'chat_seq' : 'seq'
  const filters = listFilters(range, column).map(([name]) => `AND e.${name} IN (SELECT value FROM json_each(?))`)
  const branch = `SELECT ${columns}, e.${positionColumn} AS position FROM transcript_entries e ${index ? `INDEXED BY ${index}` : ''}
    WHERE e.thread = ? AND ${condition} AND e.${positionColumn} > ? AND e.${positionColumn} < ? ${filters.join(' ')}`
  return `${values.map(() => branch).join(' UNION ALL ')} ORDER BY position ${isBackward ? 'DESC' : 'ASC'} LIMIT +?`
}

function bindBranch(
  thread: number,
  range: EntryRange,
  { value, column }: UnionBranches & { value: string },
): readonly SqlValue[] {
  const { after_seq = 0, before_seq = Number.MAX_SAFE_INTEGER } = range
  const lists = listFilters(range, column).map(([, list]) => formatJson(list))
  return [thread, value, clampPosition(after_seq), clampPosition(before_seq), ...lists]
}

/** Lists the filters of a range, except the column by which the branches select. */
function listFilters(
  { scopes, kinds, agent_keys }: EntryRange,
  exceptColumn?: FilterColumn,
): readonly (readonly [FilterColumn, readonly string[]])[] {
  const filters: readonly (readonly [FilterColumn, readonly string[] | undefined])[] = [
    ['scope', scopes],
    ['kind', kinds],
    ['agent_key', agent_keys],
  ]
  return filters.flatMap(([column, list]) => (list && column !== exceptColumn ? [[column, list] as const] : []))
}

function clampPosition(position: number): number {
  return Math.max(0, Math.min(Math.trunc(position), Number.MAX_SAFE_INTEGER))
}
