import { randomUUID } from 'node:crypto'
import type {
  ChannelName,
  CurrentMessage,
  FoundResponse,
  Json,
  LookupStore,
  NormalizedResponse,
  Part,
} from '@postern/core'
import { isoTime } from '@postern/core'
import type { StoredEntryDraft } from '../conversations/entries.ts'
import { erased } from '../conversations/entries.ts'
import type { Database } from '../engine/database.ts'
import { formatJson, parseJson, prepareInsert, prepareQuery } from '../engine/database.ts'
import { prepareAgentTotal } from '../peers/senders.ts'
import type { ReadMessage } from './table.ts'

/** A response, and what rendering it takes beside the message's target. */
interface StoredResponse {
  readonly response: NormalizedResponse
  readonly rendering: Json | undefined
}

/** A response as its columns; `envelope` is the response without its parts, which are `content`. */
export interface ResponseDraft extends Pick<StoredEntryDraft, 'author' | 'content' | 'at'> {
  readonly id: string
  readonly envelope: string
  readonly rendering: string | null
  readonly isListed: boolean
}

export interface ResponseTable {
  /** @returns its seq */
  insert(position: PartialAnswerPosition, draft: ResponseDraft): number
  /** Other words under the same id. */
  revise(seq: number, draft: ResponseDraft, now: number): void
  /** Its content is gone from here on; that there was one stays. */
  retract(seq: number, now: number): void
  find(seq: number): StoredResponse | undefined
  /** One that is there. */
  read(seq: number): StoredResponse
  /** By the response's own id; also of one that was taken back. */
  findPlace(id: string): ResponsePlace | undefined
  /** What a message has been answered with so far. */
  findGiven(message: number): Pick<ResponsePlace, 'seq' | 'retracted_at'> | undefined
  findByMessage(message: number): (StoredResponse & { readonly seq: number }) | undefined
}

export interface ResponsePlace {
  readonly seq: number
  readonly message: number
  readonly thread_id: number
  readonly agent: string
  readonly channel: ChannelName
  readonly retracted_at: number | null
}

export interface ResponseRow {
  readonly seq: number
  readonly message: number
  readonly envelope: string
  readonly content: string
  readonly rendering: string | null
  readonly edited_at: number | null
  readonly retracted_at: number | null
}

export const responseColumns =
  'r.seq, r.answers AS message, r.envelope, r.content, r.rendering, r.edited_at, r.retracted_at'
export const selectResponse = `SELECT ${responseColumns} FROM messages r WHERE r.kind = 'response'`
const fromName = `FROM thread_aliases n JOIN messages r ON r.kind = 'response' AND r.answers = n.message AND r.native_id = n.name
  WHERE n.name = ?`

export function createResponseTable(db: Database): ResponseTable {
  const insert = prepareInsert(
    db,
    `INSERT INTO messages (entry_id, native_id, kind, scope, thread_id, task_id, answers, agent, channel, at, is_listed, author, rendering,
       envelope, content) VALUES (?, ?, 'response', 'conversation', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    'seq',
  )
  const revise = prepareQuery(
    db,
    'UPDATE messages SET envelope = ?, content = ?, edited_at = ? WHERE seq = ? AND retracted_at IS NULL',
  )
  const retract = prepareQuery(
    db,
    `UPDATE messages SET retracted_at = ?, is_listed = 0, ${erased},
       envelope = json_remove(envelope, '$.trace', '$.chat_state', '$.chat_metadata', '$.unfinished') WHERE seq = ?`,
  )
  const find = prepareQuery<ResponseRow>(db, `${selectResponse} AND r.seq = ?`)
  const findByMessage = prepareQuery<ResponseRow>(db, `${selectResponse} AND r.answers = ?`)
  const findPlace = prepareQuery<ResponsePlace>(
    db,
    `SELECT r.seq, r.answers AS message, r.thread_id, r.agent, r.channel, r.retracted_at ${fromName}`,
  )
  const findGiven = prepareQuery<Pick<ResponsePlace, 'seq' | 'retracted_at'>>(
    db,
    "SELECT seq, retracted_at FROM messages WHERE kind = 'response' AND answers = ?",
  )
  function findResponse(seq: number): StoredResponse | undefined {
    const row = find.get(seq)
    return row && readResponse(row)
  }

  return {
    insert({ message, thread, task, agent, channel }, { id, author, content, at, envelope, isListed, rendering }) {
      const position = [thread, task ?? null, message, agent, channel] as const
      return insert(randomUUID(), id, ...position, at, isListed ? 1 : 0, author, rendering, envelope, content)
    },
    revise: (seq, { envelope, content }, now) => void revise.run(envelope, content, now, seq),
    retract: (seq, now) => void retract.run(now, seq),
    find: findResponse,
    read(seq) {
      const response = findResponse(seq)
      if (!response) throw new Error(`there is no response ${seq}`)
      return response
    },
    findPlace: id => findPlace.get(id),
    findGiven: message => findGiven.get(message),
    findByMessage(message) {
      const row = findByMessage.get(message)
      return row && { ...readResponse(row), seq: row.seq }
    },
  }
}

export function draftResponse(
  response: NormalizedResponse,
  rendering: Json | undefined,
  isListed: boolean,
): ResponseDraft {
  const text = rendering === undefined ? null : formatJson(rendering)
  return {
    id: response.id,
    author: formatJson({ address: response.sender }),
    content: formatJson(response.parts),
    at: response.created_at,
    envelope: formatEnvelope(response),
    rendering: text,
    isListed,
  }
}

function formatEnvelope({ parts: _, ...envelope }: NormalizedResponse): string {
  return formatJson(envelope)
}

export function readResponse({ envelope, content, rendering }: ResponseRow): StoredResponse {
  const { id, thread_id, in_reply_to, sender, ...rest } = parseJson<Omit<NormalizedResponse, 'parts'>>(envelope)
  const response = { id, thread_id, in_reply_to, sender, parts: parseJson<Part[]>(content), ...rest }
  return { response, rendering: rendering === null ? undefined : parseJson(rendering) }
}

export function createResponseLookup(
  db: Database,
  readMessage: ReadMessage,
): Pick<LookupStore, 'findResponse' | 'findAnswer' | 'listResponses' | 'countListed'> {
  const findById = prepareQuery<ResponseRow>(db, `SELECT ${responseColumns} ${fromName}`)
  const findByMessage = prepareQuery<ResponseRow>(db, `${selectResponse} AND r.answers = ?`)
  const newest = 'r.agent = ? AND r.channel IN (?) AND r.seq < ? ORDER BY r.seq DESC LIMIT +?'
  const listNewest = prepareQuery<ResponseRow>(db, `${selectResponse} AND ${newest}`)
  const listListed = prepareQuery<ResponseRow>(db, `${selectResponse} AND r.is_listed = 1 AND ${newest}`)
  const countOf = prepareAgentTotal(db)
  const toFound = (row: ResponseRow): FoundResponse => {
    const { content, target, agent, via } = readMessage(row.message)
    return { ...readResponse(row), message: content, target, agent, via, ...readChanges(row) }
  }
  return {
    async findResponse(id) {
      const row = findById.get(id)
      return row && toFound(row)
    },
    async findAnswer(message) {
      const row = findByMessage.get(message)
      return row && toFound(row)
    },
    listResponses: async ({ agent, via, isListed, limit, after = Number.MAX_SAFE_INTEGER }) =>
      (isListed ? listListed : listNewest)
        .all(agent, via, after, limit)
        .map(row => ({ place: row.seq, ...toFound(row) })),
    countListed: async ({ agent, via }) => countOf(agent, via, 'listed'),
  }
}

function readChanges({ edited_at, retracted_at }: ResponseRow): Pick<FoundResponse, 'editedAt' | 'retractedAt'> {
  return {
    ...(edited_at !== null && { editedAt: isoTime(edited_at) }),
    ...(retracted_at !== null && { retractedAt: isoTime(retracted_at) }),
  }
}

/** Where something is said. */
export interface PartialAnswerPosition {
  readonly message: number
  readonly agent: string
  readonly channel: ChannelName
  readonly thread: number
  readonly task: number | undefined
  /** Whose task it is. */
  readonly owner?: string | undefined
  readonly now: number
}

/** Messages that are looked through for replies: a public thread has no end. */
const maxSought = 500

interface PlaceRow {
  readonly seq: number
  readonly message: number
  readonly thread_id: number
}

/** What stands before and behind a response in its thread. */
export function createContextLookup(db: Database, readMessage: ReadMessage): Pick<LookupStore, 'readResponseContext'> {
  const findPlace = prepareQuery<PlaceRow>(
    db,
    `SELECT r.seq, r.answers AS message, r.thread_id FROM thread_aliases n
       JOIN messages r ON r.kind = 'response' AND r.answers = n.message AND r.native_id = n.name WHERE n.name = ?`,
  )
  const listLater = prepareQuery<{ seq: number; reply_to: string | null }>(
    db,
    `SELECT m.seq, json_extract(m.envelope, '$.in_reply_to') AS reply_to FROM messages m
     WHERE m.thread_id = ? AND m.scope = 'conversation' AND m.kind = 'message' AND coalesce(m.answers, m.seq) > ?
       AND m.forgotten_at IS NULL AND coalesce(json_extract(m.envelope, '$.kind'), 'message') = 'message'
     ORDER BY coalesce(m.answers, m.seq) LIMIT ${maxSought}`,
  )
  const readCurrent = createCurrentReader(db, readMessage)
  return {
    async readResponseContext(id, { names, limit }) {
      const place = findPlace.get(id)
      if (!place) return { replies: [] }
      const replies = listLater
        .all(place.thread_id, place.message)
        .filter(({ reply_to }) => reply_to !== null && names.includes(reply_to))
        .slice(0, limit)
      return {
        answered: readCurrent(place.message),
        replies: replies.flatMap(({ seq }) => readCurrent(seq) ?? []),
      }
    },
  }
}

/** An edit is a message of its own, known by the same author and object. */
function createCurrentReader(db: Database, readMessage: ReadMessage): (number: number) => CurrentMessage | undefined {
  const findLatest = prepareQuery<{ seq: number }>(
    db,
    `SELECT l.seq FROM messages m JOIN messages l ON l.principal = m.principal AND l.object = m.object AND l.channel = m.channel
     WHERE m.seq = ? AND l.agent = m.agent AND l.forgotten_at IS NULL ORDER BY l.seq DESC LIMIT 1`,
  )
  const findAnswer = prepareQuery<{ id: string }>(
    db,
    "SELECT native_id AS id FROM messages WHERE kind = 'response' AND answers = ? AND is_listed = 1",
  )
  return number => {
    const latest = findLatest.get(number)
    if (!latest) return undefined
    const { content: message, target } = readMessage(latest.seq)
    const response = findAnswer.get(number)?.id
    return { message, target, ...(response !== undefined && { response }) }
  }
}
