import { randomUUID } from 'node:crypto'
import type { Answer, ChannelName, Json, NormalizedMessage, NormalizedResponse, Part, Turn } from '@postern/core'
import type { StoredEntryDraft } from '../conversations/entries.ts'
import { erased } from '../conversations/entries.ts'
import type { Sql } from '../engine/database.ts'
import { formatJson, parseJson, prepareInsert } from '../engine/database.ts'

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
export const fromResponseName = `FROM thread_aliases n JOIN messages r ON r.kind = 'response' AND r.answers = n.message AND r.native_id = n.name
  WHERE n.name = ?`

export function createResponseTable(db: Sql): ResponseTable {
  const insert = prepareInsert(
    db,
    `INSERT INTO messages (entry_id, native_id, kind, scope, thread_id, task_id, answers, agent, channel, at, is_listed, author, rendering,
       envelope, content) VALUES (?, ?, 'response', 'conversation', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    'seq',
  )
  const revise = db.prepare(
    'UPDATE messages SET envelope = ?, content = ?, edited_at = ? WHERE seq = ? AND retracted_at IS NULL',
  )
  const retract = db.prepare(
    `UPDATE messages SET retracted_at = ?, is_listed = 0, ${erased},
       envelope = json_remove(envelope, '$.trace', '$.chat_state', '$.chat_metadata', '$.unfinished') WHERE seq = ?`,
  )
  const find = db.prepare<ResponseRow>(`${selectResponse} AND r.seq = ?`)
  const findByMessage = db.prepare<ResponseRow>(`${selectResponse} AND r.answers = ?`)
  const findPlace = db.prepare<ResponsePlace>(
    `SELECT r.seq, r.answers AS message, r.thread_id, r.agent, r.channel, r.retracted_at ${fromResponseName}`,
  )
  const findGiven = db.prepare<Pick<ResponsePlace, 'seq' | 'retracted_at'>>(
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
  { rendering, isListed = false }: Pick<Answer, 'rendering' | 'isListed'> = {},
): ResponseDraft {
  return {
    id: response.id,
    author: formatJson({ address: response.sender }),
    content: formatJson(response.parts),
    at: response.created_at,
    envelope: formatEnvelope(response),
    rendering: rendering === undefined ? null : formatJson(rendering),
    isListed,
  }
}

function formatEnvelope({ parts: _, ...envelope }: NormalizedResponse): string {
  return formatJson(envelope)
}

export function readResponse({
  envelope,
  content,
  rendering,
}: Pick<ResponseRow, 'envelope' | 'content' | 'rendering'>): StoredResponse {
  const { id, thread_id, in_reply_to, sender, ...rest } = parseJson<Omit<NormalizedResponse, 'parts'>>(envelope)
  const response = { id, thread_id, in_reply_to, sender, parts: parseJson<Part[]>(content), ...rest }
  return { response, rendering: rendering === null ? undefined : parseJson(rendering) }
}

export interface AnsweredWords extends Pick<Turn, 'correlationId'> {
  /** Makes the message anew, as it is stored. */
  readMessage(): NormalizedMessage
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
  /** What is answered, where it need not be read. */
  readonly answered?: AnsweredWords | undefined
  readonly now: number
}
