import type {
  IntakeTrace,
  MessagePage,
  MessageRecord,
  MessageState,
  MessageSummary,
  OperatorStore,
  Part,
  TurnRecord,
} from '@postern/core'
import { plainTextOf } from '@postern/core'
import { formatBoundedParts } from '../conversations/entries.ts'
import type { Query, Sql } from '../engine/database.ts'
import { parseJson } from '../engine/database.ts'
import type { ResponseTable } from '../messages/responses.ts'
import type { ReadMessage, StoredEnvelope } from '../messages/table.ts'
import { readAttempts } from '../turns/queue.ts'
import type { DeliveryList } from './delivery-list.ts'

interface SummaryRow {
  readonly number: number
  readonly agent: string
  readonly envelope: string
  readonly content: string
  readonly state: MessageState
  readonly correlation_id: string
  readonly flags: string | null
}

interface StandingRow {
  readonly number: number
  readonly state: MessageState
  readonly error: string | null
  readonly proofs: string
  readonly duplicates: number
  readonly merged_into: number | null
  readonly trace: string | null
  /** All of the turn; null where there is none. */
  readonly attempts: string | null
  readonly has_turn: 0 | 1
  readonly due_at: number | null
  readonly lease_owner: string | null
  readonly ended_at: number | null
}

/** A page has up to 500 rows: larger messages are not read for their first words. */
const maxPreviewedBytes = 32 * 1024

/** Longest preview, UTF-16 code units. */
const previewLength = 160

export interface MessageViewDeps {
  readonly readMessage: ReadMessage
  readonly responses: ResponseTable
}

export function createMessageView(
  db: Sql,
  { readMessage, responses }: MessageViewDeps,
  deliveries: DeliveryList,
): Pick<OperatorStore, 'listMessages' | 'findMessage'> {
  const listNewest = db.prepare<SummaryRow>(
    `SELECT m.seq AS number, m.agent, m.envelope, ${formatBoundedParts('m.content', maxPreviewedBytes)}, coalesce(w.state, 'ignored') AS state, m.correlation_id, m.flags
     FROM messages m LEFT JOIN turns w ON w.message = m.seq
     WHERE m.seq < ?1 AND m.seq >= ?2 AND m.kind = 'message' AND (m.agent = ?3 OR ?3 IS NULL) AND (m.channel = ?4 OR ?4 IS NULL)
       AND (coalesce(w.state, 'ignored') = ?5 OR ?5 IS NULL) AND (m.at >= ?6 OR ?6 IS NULL) AND (m.at < ?7 OR ?7 IS NULL)
       AND (instr(m.flags, ?8) > 0 OR ?8 IS NULL)
       AND (instr(lower(json_extract(m.author, '$.address')), lower(?9)) > 0 OR ?9 IS NULL) ORDER BY m.seq DESC LIMIT +?10`,
  )
  const standing = `m.seq AS number, coalesce(w.state, 'ignored') AS state, w.error, m.proofs, coalesce(d.count, 0) AS duplicates, w.merged_into,
    m.trace, w.trace AS attempts, w.message IS NOT NULL AS has_turn, w.due_at, w.lease_owner, w.ended_at`
  const joins = 'LEFT JOIN turns w ON w.message = m.seq LEFT JOIN duplicates d ON d.message = m.seq'
  const findByNumber = db.prepare<StandingRow>(
    `SELECT ${standing} FROM messages m ${joins} WHERE m.seq = ? AND m.kind = 'message'`,
  )
  const findById = db.prepare<StandingRow>(
    `SELECT ${standing} FROM thread_aliases n JOIN messages m ON m.seq = n.message AND m.native_id = n.name AND m.kind = 'message' ${joins}
     WHERE n.name = ? ORDER BY json_extract(m.envelope, '$.sender.verified') DESC, m.seq`,
  )
  const findNamesakes = (name: string) => {
    const numbered = /^(?<mark>#?)(?<number>\d{1,15})$/.exec(name)?.groups
    // A peer may number its messages, so digits alone are first of all an id.
    const byId = numbered?.mark ? [] : findById.all(name)
    return numbered && byId.length === 0 ? findByNumber.all(Number(numbered.number)) : byId
  }
  return {
    listMessages: async page => listFiltered(listNewest, page).map(toSummary),
    async findMessage(id): Promise<MessageRecord | undefined> {
      const [standing, ...others] = findNamesakes(id)
      if (!standing) return undefined
      const stored = readMessage(standing.number)
      return {
        number: standing.number,
        thread: stored.thread,
        message: stored.content,
        proofs: parseJson(standing.proofs),
        state: standing.state,
        flags: stored.flags,
        ...(standing.error !== null && { error: standing.error }),
        response: responses.findByMessage(standing.merged_into ?? standing.number)?.response ?? null,
        deliveries: deliveries.ofMessage(standing.number),
        duplicates: standing.duplicates,
        correlation_id: stored.correlationId,
        ...(standing.merged_into !== null && { merged_into: standing.merged_into }),
        ...(standing.trace !== null && { trace: parseJson<IntakeTrace>(standing.trace) }),
        ...(standing.has_turn && standing.merged_into === null && { turn: toTurnRecord(standing) }),
        ...(others.length > 0 && { namesakes: others.map(({ number }) => number) }),
      }
    },
  }
}

/** Rows of a page; those that only their text decides about are read until the page is full. */
function listFiltered(list: Query<SummaryRow>, page: MessagePage): readonly SummaryRow[] {
  const { limit, text } = page
  const filter = filterValues(page)
  let after = page.after ?? Number.MAX_SAFE_INTEGER
  const found: SummaryRow[] = []
  for (;;) {
    const rows = list.all(after, page.floor ?? 0, ...filter, limit)
    const matching =
      text === undefined ? rows : rows.filter(row => textOf(row).toLowerCase().includes(text.toLowerCase()))
    found.push(...matching.slice(0, limit - found.length))
    if (found.length === limit || rows.length < limit) return found
    after = rows.at(-1)?.number ?? 0
  }
}

function filterValues({ agent, channel, state, since, until, flag, sender }: MessagePage) {
  const quoted = flag === undefined ? null : JSON.stringify(flag)
  return [agent ?? null, channel ?? null, state ?? null, since ?? null, until ?? null, quoted, sender ?? null] as const
}

function textOf({ content }: SummaryRow): string {
  return plainTextOf(parseJson<readonly Part[]>(content))
}

function toTurnRecord({ attempts, due_at, lease_owner, ended_at }: StandingRow): TurnRecord {
  const isLeased = lease_owner !== null
  return {
    attempts: readAttempts(attempts),
    is_leased: isLeased,
    ...(due_at !== null && !isLeased && { due_at }),
    ...(ended_at !== null && { ended_at }),
  }
}

function toSummary(row: SummaryRow): MessageSummary {
  const { id, received_via, received_at, sender } = parseJson<StoredEnvelope>(row.envelope)
  return {
    message: row.number,
    id,
    via: received_via,
    agent: row.agent,
    sender: sender.address,
    verified: sender.verified,
    state: row.state,
    received_at,
    preview: previewOf(parseJson<readonly Part[]>(row.content)),
    correlation_id: row.correlation_id,
    flags: row.flags === null ? [] : parseJson<readonly string[]>(row.flags),
  }
}

function previewOf(parts: readonly Part[]): string {
  const text = plainTextOf(parts).trim().replace(/\s+/g, ' ')
  return text.length > previewLength ? `${text.slice(0, previewLength).toWellFormed()}…` : text
}
