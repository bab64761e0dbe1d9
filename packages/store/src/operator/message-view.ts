// Reads a message with its turn, calls and deliveries for operators.
import type { IntakeTrace, Part, ResponseStatus, TurnRecord } from '@postern/message'
import { listIdSpellings, plainTextOf } from '@postern/message'
import type { MessagePage, MessageRecord, MessageState, MessageSummary, OperatorStore } from '@postern/pipeline'
import type { ReadMessage, StoredEnvelope } from '../messages/read-message.ts'
import type { ResponseTable } from '../messages/responses.ts'
import { readAttempts } from '../queue/turns/turn-attempts.ts'
import { parseJson } from '../sql/json-columns.ts'
import type { Operation } from '../sql/operation.ts'
import type { Query, Sql } from '../sql/sql.ts'
import { formatBoundedParts } from '../threads/entries.ts'
import type { DeliveryList } from './delivery-list.ts'
import { createTurnStepReader } from './turn-steps.ts'

interface SummaryRow {
  readonly number: number
  readonly thread: number
  readonly status: ResponseStatus | null
  readonly answered_at: string | null
  readonly agent: string
  readonly envelope: string
  readonly content: string
  readonly state: MessageState
  readonly correlation_id: string
  readonly flags: string | null
}

interface MessageStateRow {
  readonly number: number
  readonly state: MessageState
  readonly error: string | null
  readonly proofs: string
  readonly duplicates: number
  readonly merged_into: number | null
  readonly trace: string | null
  /** All attempts of the turn, or null if there is no turn. */
  readonly attempts: string | null
  readonly has_turn: 0 | 1
  readonly due_at: number | null
  readonly lease_owner: string | null
  readonly ended_at: number | null
}

/** The maximum size of a message that is read for its preview, in bytes. A page has up to 500 rows. */
const maxPreviewedBytes = 32 * 1024

/** The maximum length of a preview in UTF-16 code units. */
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
  const readSteps = createTurnStepReader(db)
  const listNewest = prepareList(db)
  const findNamesakes = createNamesakeFinder(db)
  return {
    listMessages: page =>
      db.read(function* () {
        return (yield* listFiltered(listNewest, page)).map(toSummary)
      }),
    findMessage(id): Promise<MessageRecord | undefined> {
      return db.read(function* () {
        const [stateRow, ...namesakes] = yield* findNamesakes(id)
        if (!stateRow) return undefined
        const storedMessage = yield* readMessage(stateRow.number)
        const steps = yield* readSteps(stateRow.number, storedMessage.thread)
        return {
          number: stateRow.number,
          thread: storedMessage.thread,
          message: storedMessage.content,
          proofs: parseJson(stateRow.proofs),
          state: stateRow.state,
          flags: storedMessage.flags,
          ...(stateRow.error !== null && { error: stateRow.error }),
          response: (yield* responses.findByMessage(stateRow.merged_into ?? stateRow.number))?.response ?? null,
          deliveries: yield* deliveries.listByMessage(stateRow.number),
          duplicates: stateRow.duplicates,
          correlation_id: storedMessage.correlationId,
          ...(stateRow.merged_into !== null && { merged_into: stateRow.merged_into }),
          ...(stateRow.trace !== null && { trace: parseJson<IntakeTrace>(stateRow.trace) }),
          ...(stateRow.has_turn && stateRow.merged_into === null && { turn: toTurnRecord(stateRow) }),
          ...(steps.length > 0 && { steps }),
          ...(namesakes.length > 0 && { namesakes: namesakes.map(({ number }) => number) }),
        }
      })
    },
  }
}

/** Creates the search for the messages with an id, those of proven senders first. A number finds the message with that number. */
function createNamesakeFinder(db: Sql): (name: string) => Operation<readonly MessageStateRow[]> {
  const stateColumns = `m.seq AS number, coalesce(w.state, 'ignored') AS state, w.error, m.proofs, coalesce(d.count, 0) AS duplicates, w.merged_into,
    m.trace, w.trace AS attempts, w.message IS NOT NULL AS has_turn, w.due_at, w.lease_owner, w.ended_at`
  const joins = 'LEFT JOIN turns w ON w.message = m.seq LEFT JOIN duplicates d ON d.message = m.seq'
  const findByNumber = db.prepare<MessageStateRow>(
    `SELECT ${stateColumns} FROM messages m ${joins} WHERE m.seq = ? AND m.kind = 'message'`,
  )
  const findById = db.prepare<MessageStateRow>(
    `SELECT ${stateColumns} FROM thread_aliases n JOIN messages m ON m.seq = n.message AND m.native_id = n.name AND m.kind = 'message' ${joins}
     WHERE n.name = ? ORDER BY json_extract(m.envelope, '$.sender.verified') DESC, m.seq`,
  )
  const findByAnswerId = db.prepare<MessageStateRow>(
    `SELECT ${stateColumns} FROM thread_aliases n JOIN messages m ON m.seq = n.message AND m.native_id <> n.name AND m.kind = 'message' ${joins}
     WHERE n.name = ? AND n.is_key = 0 ORDER BY json_extract(m.envelope, '$.sender.verified') DESC, m.seq`,
  )
  /** Finds messages by their own ids, or else by the ids of their answers. */
  function* findByIds(ids: readonly string[]): Operation<readonly MessageStateRow[]> {
    for (const query of [findById, findByAnswerId]) {
      for (const id of ids) {
        const messages = yield* query.all(id)
        if (messages.length > 0) return messages
      }
    }
    return []
  }
  return function* (name) {
    const numberMatch = /^(?<mark>#?)(?<number>\d{1,15})$/.exec(name)?.groups
    // Digits without a # may be an id, because some peers number their messages. So they are searched as an id first.
    const messagesById = numberMatch?.mark ? [] : yield* findByIds(listIdSpellings(name))
    return numberMatch && messagesById.length === 0 ? yield* findByNumber.all(Number(numberMatch.number)) : messagesById
  }
}

function prepareList(db: Sql): Query<SummaryRow> {
  return db.prepare<SummaryRow>(
    `SELECT m.seq AS number, m.thread_id AS thread, json_extract(r.envelope, '$.status') AS status, r.at AS answered_at, m.agent, m.envelope, ${formatBoundedParts('m.content', maxPreviewedBytes)}, coalesce(w.state, 'ignored') AS state, m.correlation_id, m.flags
     FROM messages m LEFT JOIN turns w ON w.message = m.seq
       LEFT JOIN messages r ON r.answers = coalesce(w.merged_into, m.seq) AND r.kind = 'response'
     WHERE m.seq < ?1 AND m.seq >= ?2 AND m.kind = 'message' AND (m.agent = ?3 OR ?3 IS NULL) AND (m.channel = ?4 OR ?4 IS NULL)
       AND (coalesce(w.state, 'ignored') = ?5 OR ?5 IS NULL) AND (m.at >= ?6 OR ?6 IS NULL) AND (m.at < ?7 OR ?7 IS NULL)
       AND (instr(m.flags, ?8) > 0 OR ?8 IS NULL)
       AND (instr(lower(json_extract(m.author, '$.address')), lower(?9)) > 0 OR ?9 IS NULL) ORDER BY m.seq DESC LIMIT +?10`,
  )
}

/** Lists the rows of a page. With a text filter, it reads further rows until the page is full. */
function* listFiltered(list: Query<SummaryRow>, page: MessagePage): Operation<readonly SummaryRow[]> {
  const { limit, text } = page
  const filter = filterValues(page)
  let after = page.after ?? Number.MAX_SAFE_INTEGER
  const summaries: SummaryRow[] = []
  for (;;) {
    const rows = yield* list.all(after, page.floor ?? 0, ...filter, limit)
    const matchingRows =
      text === undefined ? rows : rows.filter(row => readText(row).toLowerCase().includes(text.toLowerCase()))
    summaries.push(...matchingRows.slice(0, limit - summaries.length))
    if (summaries.length === limit || rows.length < limit) return summaries
    after = rows.at(-1)?.number ?? 0
  }
}

function filterValues({ agent, channel, state, since, until, flag, sender }: MessagePage) {
  const quotedFlag = flag === undefined ? null : JSON.stringify(flag)
  return [
    agent ?? null,
    channel ?? null,
    state ?? null,
    since ?? null,
    until ?? null,
    quotedFlag,
    sender ?? null,
  ] as const
}

function readText({ content }: SummaryRow): string {
  return plainTextOf(parseJson<readonly Part[]>(content))
}

function toTurnRecord({ attempts, due_at, lease_owner, ended_at }: MessageStateRow): TurnRecord {
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
    thread: row.thread,
    id,
    via: received_via,
    agent: row.agent,
    sender: sender.address,
    verified: sender.verified,
    state: row.state,
    ...(row.status !== null && { status: row.status }),
    received_at,
    ...(row.answered_at !== null && { answered_at: row.answered_at }),
    preview: formatPreview(parseJson<readonly Part[]>(row.content)),
    correlation_id: row.correlation_id,
    flags: row.flags === null ? [] : parseJson<readonly string[]>(row.flags),
  }
}

function formatPreview(parts: readonly Part[]): string {
  const text = plainTextOf(parts).trim().replace(/\s+/g, ' ')
  return text.length > previewLength ? `${text.slice(0, previewLength).toWellFormed()}…` : text
}
