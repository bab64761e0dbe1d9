// Stores the responses of agents.
import { randomUUID } from 'node:crypto'
import type { ChannelName, Json, NormalizedMessage, NormalizedResponse, Part } from '@postern/message'
import type { Answer, DeliveryPlan, Turn } from '@postern/pipeline'
import { formatJson, parseJson } from '../sql/json-columns.ts'
import type { Operation } from '../sql/operation.ts'
import type { Sql } from '../sql/sql.ts'
import type { StoredEntryDraft } from '../threads/entries.ts'
import { eraseAssignments } from '../threads/entries.ts'

/** A response with the data that its channel renders it with. */
interface StoredResponse {
  readonly response: NormalizedResponse
  readonly rendering: Json | undefined
}

/** A response as the columns of its row. `envelope` is the response without its parts, which are in `content`. */
export interface ResponseDraft extends Pick<StoredEntryDraft, 'author' | 'content' | 'at'> {
  readonly id: string
  readonly envelope: string
  readonly rendering: string | null
  readonly isListed: boolean
}

export interface ResponseTable {
  /** Inserts a row and returns its seq. */
  insert(position: AnswerPosition, draft: ResponseDraft): Operation<number>
  /** Replaces the content of a response, which keeps its id. */
  revise(seq: number, draft: ResponseDraft, now: number): void
  /** Deletes the content of a response. The row stays and shows that there was one. */
  retract(seq: number, now: number): void
  find(seq: number): Operation<StoredResponse | undefined>
  /** Reads a response. @throws Error if there is none with this seq */
  read(seq: number): Operation<StoredResponse>
  /** Finds the position of a response by its id, even if the response was retracted. */
  findPosition(id: string): Operation<ResponsePosition | undefined>
  /** Finds the response to a message, even if it is partial or was retracted. */
  findExisting(message: number): Operation<Pick<ResponsePosition, 'seq' | 'retracted_at'> | undefined>
  /** Finds the partial answer of a message's open turn with its withdrawal. Returns undefined if there is none, or if it was retracted. */
  findInterim(message: number): Operation<InterimResponse | undefined>
  findByMessage(message: number): Operation<(StoredResponse & { readonly seq: number }) | undefined>
}

export interface ResponsePosition {
  readonly seq: number
  readonly message: number
  readonly thread_id: number
  readonly agent: string
  readonly channel: ChannelName
  readonly retracted_at: number | null
}

interface InterimResponse extends ResponsePosition {
  readonly withdrawal: DeliveryPlan
}

/** The content of the column `envelope`. */
interface StoredEnvelope extends Omit<NormalizedResponse, 'parts'> {
  readonly withdrawal?: DeliveryPlan | undefined
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
  const insert = db.prepareInsert(
    `INSERT INTO messages (entry_id, native_id, kind, scope, thread_id, task_id, answers, agent, channel, at, is_listed, author, rendering,
       envelope, content) VALUES (?, ?, 'response', 'conversation', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    'seq',
  )
  const revise = db.prepare(
    'UPDATE messages SET envelope = ?, content = ?, edited_at = ? WHERE seq = ? AND retracted_at IS NULL',
  )
  const retract = db.prepare(
    `UPDATE messages SET retracted_at = ?, is_listed = 0, ${eraseAssignments},
       envelope = json_remove(envelope, '$.trace', '$.chat_state', '$.chat_metadata', '$.unfinished', '$.withdrawal') WHERE seq = ?`,
  )
  const find = db.prepare<ResponseRow>(`${selectResponse} AND r.seq = ?`)
  const findByMessage = db.prepare<ResponseRow>(`${selectResponse} AND r.answers = ?`)
  const findPosition = db.prepare<ResponsePosition>(
    `SELECT r.seq, r.answers AS message, r.thread_id, r.agent, r.channel, r.retracted_at ${fromResponseName}`,
  )
  const findExisting = db.prepare<Pick<ResponsePosition, 'seq' | 'retracted_at'>>(
    "SELECT seq, retracted_at FROM messages WHERE kind = 'response' AND answers = ?",
  )
  const findUnretracted = db.prepare<ResponsePosition & { readonly envelope: string }>(
    `SELECT r.seq, r.answers AS message, r.thread_id, r.agent, r.channel, r.retracted_at, r.envelope FROM messages r
     WHERE r.kind = 'response' AND r.answers = ? AND r.retracted_at IS NULL`,
  )
  function* findResponse(seq: number): Operation<StoredResponse | undefined> {
    const row = yield* find.get(seq)
    return row && readResponse(row)
  }

  return {
    *insert({ message, thread, task, agent, channel }, { id, author, content, at, envelope, isListed, rendering }) {
      const position = [thread, task ?? null, message, agent, channel] as const
      return yield* insert(randomUUID(), id, ...position, at, isListed ? 1 : 0, author, rendering, envelope, content)
    },
    revise: (seq, { envelope, content }, now) => void revise.run(envelope, content, now, seq),
    retract: (seq, now) => void retract.run(now, seq),
    find: findResponse,
    *read(seq) {
      const response = yield* findResponse(seq)
      if (!response) throw new Error(`there is no response ${seq}`)
      return response
    },
    findPosition: id => findPosition.get(id),
    findExisting: message => findExisting.get(message),
    *findInterim(message) {
      const row = yield* findUnretracted.get(message)
      if (!row) return undefined
      const { envelope, ...position } = row
      const { withdrawal } = parseJson<StoredEnvelope>(envelope)
      // An earlier release stored no withdrawal. Deliveries that were sent stay at their recipients, but no further ones are sent.
      return { ...position, withdrawal: withdrawal ?? { deliveries: [] } }
    },
    *findByMessage(message) {
      const row = yield* findByMessage.get(message)
      return row && { ...readResponse(row), seq: row.seq }
    },
  }
}

export function draftResponse(
  response: NormalizedResponse,
  { rendering, isListed = false, withdrawal }: Pick<Answer, 'rendering' | 'isListed' | 'withdrawal'> = {},
): ResponseDraft {
  return {
    id: response.id,
    author: formatJson({ address: response.sender }),
    content: formatJson(response.parts),
    at: response.created_at,
    envelope: formatEnvelope(response, withdrawal),
    rendering: rendering === undefined ? null : formatJson(rendering),
    isListed,
  }
}

/** Returns the draft of a response that begins a thread, with the thread's new id. */
export function setThreadId(draft: ResponseDraft, response: NormalizedResponse, thread_id: string): ResponseDraft {
  return { ...draft, envelope: formatEnvelope({ ...response, thread_id }) }
}

function formatEnvelope({ parts: _, ...envelope }: NormalizedResponse, withdrawal?: DeliveryPlan): string {
  return formatJson({ ...envelope, withdrawal } satisfies StoredEnvelope)
}

export function readResponse({
  envelope,
  content,
  rendering,
}: Pick<ResponseRow, 'envelope' | 'content' | 'rendering'>): StoredResponse {
  const { id, thread_id, in_reply_to, sender, withdrawal: _, ...otherMembers } = parseJson<StoredEnvelope>(envelope)
  const response = { id, thread_id, in_reply_to, sender, parts: parseJson<Part[]>(content), ...otherMembers }
  return { response, rendering: rendering === null ? undefined : parseJson(rendering) }
}

export interface AnsweredMessage extends Pick<Turn, 'correlationId'> {
  /** Reads the message again, as it is stored. */
  readMessage(): NormalizedMessage
}

/** The turn, thread and task to which an answer belongs. */
export interface AnswerPosition {
  readonly message: number
  readonly agent: string
  readonly channel: ChannelName
  readonly thread: number
  readonly task: number | undefined
  /** The owner of the task. */
  readonly owner?: string | undefined
  /** The message that is answered, if it is in memory. */
  readonly answeredMessage?: AnsweredMessage | undefined
  readonly now: number
}
