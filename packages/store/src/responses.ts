import type { DatabaseSync } from 'node:sqlite'
import type { LookupDesk, NormalizedResponse, Part, Turn } from '@postern/core'
import { formatJson, parseJson, prepareQuery } from './database.ts'
import type { ReadMessage } from './messages.ts'
import { prepareAgentTotal } from './relations.ts'

export interface ResponseTable {
  /** `envelope` is the response without its parts, which are in the entry. */
  insert(seq: number, turn: Turn, said: { id: string; envelope: string; isListed: boolean }): void
  read(seq: number): NormalizedResponse
  findByMessage(message: number): NormalizedResponse | undefined
}

interface ResponseRow {
  readonly seq: number
  readonly message: number
  readonly envelope: string
  readonly content: string
}

const selectResponse = 'SELECT r.seq, r.message, r.envelope, e.content FROM responses r JOIN entries e ON e.seq = r.seq'

export function createResponseTable(db: DatabaseSync): ResponseTable {
  const insert = prepareQuery(
    db,
    'INSERT INTO responses (seq, message, id, agent, via, envelope, listed) VALUES (?, ?, ?, ?, ?, ?, ?)',
  )
  const find = prepareQuery<ResponseRow>(db, `${selectResponse} WHERE r.seq = ?`)
  const findByMessage = prepareQuery<ResponseRow>(db, `${selectResponse} WHERE r.message = ?`)
  return {
    insert: (seq, turn, { id, envelope, isListed }) =>
      void insert.run(seq, turn.message, id, turn.agent, turn.via, envelope, isListed ? 1 : 0),
    read(seq) {
      const row = find.get(seq)
      if (!row) throw new Error(`there is no response ${seq}`)
      return readResponse(row)
    },
    findByMessage(message) {
      const row = findByMessage.get(message)
      return row && readResponse(row)
    },
  }
}

export function formatEnvelope({ parts: _, ...envelope }: NormalizedResponse): string {
  return formatJson(envelope)
}

function readResponse({ envelope, content }: ResponseRow): NormalizedResponse {
  const { id, thread_id, in_reply_to, sender, ...rest } = parseJson<Omit<NormalizedResponse, 'parts'>>(envelope)
  return { id, thread_id, in_reply_to, sender, parts: parseJson<Part[]>(content), ...rest }
}

export function createResponseLookup(
  db: DatabaseSync,
  readMessage: ReadMessage,
): Pick<LookupDesk, 'findResponse' | 'listResponses' | 'countListed'> {
  const findById = prepareQuery<ResponseRow>(
    db,
    `${selectResponse} JOIN names n ON n.message = r.message AND n.name = r.id WHERE n.name = ?`,
  )
  const newest = 'r.agent = ? AND r.via = ? AND r.seq < ? ORDER BY r.seq DESC LIMIT +?'
  const listNewest = prepareQuery<ResponseRow>(db, `${selectResponse} WHERE ${newest}`)
  const listListed = prepareQuery<ResponseRow>(db, `${selectResponse} WHERE r.listed = 1 AND ${newest}`)
  const countOf = prepareAgentTotal(db)
  return {
    async findResponse(id) {
      const row = findById.get(id)
      if (!row) return undefined
      const { content, target, agent } = readMessage(row.message)
      return { response: readResponse(row), message: content, target, agent }
    },
    async listResponses({ agent, via, isListed, limit, after = Number.MAX_SAFE_INTEGER }) {
      return (isListed ? listListed : listNewest).all(agent, via, after, limit).map(row => {
        const { content, target } = readMessage(row.message)
        return { place: row.seq, response: readResponse(row), message: content, target }
      })
    },
    countListed: async ({ agent, via }) => countOf(agent, via, 'listed'),
  }
}
