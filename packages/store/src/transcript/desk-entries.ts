import type { Entry, NormalizedResponse, Part } from '@postern/core'
import type { EntryBody } from '@postern/transcript'
import type { Database } from '../database.ts'
import { parseJson, prepareQuery } from '../database.ts'
import { isFromChat, isOwnMessage, saidInThread } from '../person-words.ts'
import { createAsideFinder } from './desk-asides.ts'
import type { Piece } from './split-parts.ts'
import { splitParts } from './split-parts.ts'

type BehindMember = 'speaker' | 'trace' | 'status' | 'unfinished'

interface SaidRow {
  readonly seq: number
  readonly native_id: string | null
  readonly role: Entry['role']
  readonly author: string
  readonly content: string
  readonly at: string
  readonly agent: string
  readonly via: string
  readonly scope: string
  readonly run_id: string | null
  readonly asked_at: string | null
  /** Of an answer: what stands behind it. */
  readonly behind: string | null
}

/** Of what the gateway was asked and answered itself. */
const gatewayStage = 'gateway'

/** Something said, and where it stands: an answer by what it answers. */
export interface SaidPlace {
  readonly seq: number
  readonly place: number
}

export interface DeskBound {
  /** Of the transcript. */
  readonly thread: number
  readonly desk_thread: number
  /** From where on there may be something new. */
  readonly place: number
  readonly reader: string | null
}

/** What the desk keeps of a conversation, as entries of the transcript. Nothing is copied: the desk has the words. */
export interface DeskEntries {
  /** One message or answer; undefined when it is gone. */
  read(seq: number, thread_id: string): readonly EntryBody[] | undefined
  /**
   * What was said in a conversation from its place on, in the order in which the desk was told; with `reader`, a JSON list of principals, only
   * their words and the answers to them.
   */
  listFrom(bound: DeskBound): readonly number[]
  /** From which place on something may still be said. */
  findOpenPlace(deskThread: number): number
}

/** The latency of an answer counts from the message it answers. */
const selectSaid = `SELECT e.seq, e.native_id, e.role, e.author, e.content, e.at, t.agent, k.native_id AS run_id, q.at AS asked_at,
  CASE WHEN ${isFromChat} THEN 'web' ELSE t.via END AS via, e.scope, r.envelope AS behind
  FROM entries e JOIN threads t ON t.id = e.thread_id LEFT JOIN tasks k ON k.id = e.task_id
  LEFT JOIN entries q ON q.seq = e.answers LEFT JOIN messages m ON m.number = e.seq
  LEFT JOIN responses r ON r.seq = e.seq WHERE e.seq = ?`

export function createDeskEntries(db: Database): DeskEntries {
  const place = 'coalesce(answers, seq)'
  const findSaid = prepareQuery<SaidRow>(db, selectSaid)
  const listSeqs = prepareQuery<{ seq: number }>(
    db,
    `SELECT seq FROM entries WHERE thread_id = ? AND scope = 'conversation' AND ${place} >= ?`,
  )
  const listOwn = prepareQuery<{ seq: number }>(
    db,
    `SELECT e.seq FROM ${saidInThread} WHERE e.thread_id = ?1 AND e.scope = 'conversation'
       AND coalesce(e.answers, e.seq) >= ?2 AND ${isOwnMessage('?3')} AND e.seq NOT IN (SELECT seq FROM background)`,
  )
  const listAsides = createAsideFinder(db)
  const findFirstOpen = prepareQuery<{ message: number | null }>(
    db,
    'SELECT min(message) AS message FROM turns WHERE thread_id = ? AND ended_at IS NULL',
  )
  // What was said before a message is placed behind the message before it, and may come as long as its turn goes on.
  const findPlaceBefore = prepareQuery<{ place: number | null }>(
    db,
    `SELECT max(${place}) AS place FROM entries WHERE thread_id = ? AND scope = 'conversation' AND ${place} < ?`,
  )
  return {
    read(seq, thread_id) {
      const row = findSaid.get(seq)
      return row && writeEntries(row, thread_id)
    },
    listFrom(bound) {
      const { desk_thread, place: from, reader } = bound
      const said = reader === null ? listSeqs.all(desk_thread, from) : listOwn.all(desk_thread, from, reader)
      return [...said, ...listAsides(bound, -1)].map(({ seq }) => seq).sort((a, b) => a - b)
    },
    findOpenPlace(deskThread) {
      const open = findFirstOpen.get(deskThread)?.message ?? Number.MAX_SAFE_INTEGER
      return findPlaceBefore.get(deskThread, open)?.place ?? 0
    },
  }
}

function writeEntries(row: SaidRow, thread_id: string): readonly EntryBody[] {
  const { speaker = row.agent, trace = [], status, unfinished = [] } = readBehind(row)
  const split = [...writeUnfinished(unfinished), ...splitParts(parseJson<readonly Part[]>(row.content), row.role)]
  const pieces = status === 'input_required' && row.native_id !== null ? askQuestion(split, row.native_id) : split
  const author = parseJson<Entry['author']>(row.author)
  const isAnswer = row.role === 'assistant'
  const latency = isAnswer && row.asked_at !== null ? Date.parse(row.at) - Date.parse(row.asked_at) : undefined
  const common = {
    thread_id,
    at: new Date(row.at).toISOString(),
    author: {
      address: author.address,
      ...(author.display_name !== undefined && { display_name: author.display_name }),
    },
    ...(isAnswer && { agent_key: speaker }),
    ...(row.run_id !== null && { run_id: row.run_id }),
    ...(row.via !== 'web' && { via: row.via }),
    ...(row.scope === 'aside' && { stage: gatewayStage }),
  }
  const said = pieces.map((piece, index) => ({
    entry_id: index === 0 ? `desk-${row.seq}` : `desk-${row.seq}.${index}`,
    ...(index === 0 && row.native_id !== null && { native_id: row.native_id }),
    ...common,
    ...(pieces.length > 1 && { group_id: `desk-${row.seq}` }),
    ...(index === 0 && latency !== undefined && { latency_ms: Math.max(0, latency) }),
    ...piece,
  }))
  const done = trace.flatMap(call => splitParts([call], 'assistant').map(piece => ({ agent_key: call.agent, piece })))
  return [
    ...done.map(({ agent_key = speaker, piece }, index) => {
      return { entry_id: `desk-${row.seq}.t${index}`, ...common, agent_key, ...piece }
    }),
    ...said,
  ]
}

/** What was heard of an answer before it failed is the answer, as far as it came; why there is no more follows it. */
function writeUnfinished(parts: readonly Part[]): readonly Piece[] {
  return parts.length === 0 ? [] : splitParts(parts, 'assistant').map(piece => ({ ...piece, is_incomplete: true }))
}

/** What an agent asks is a question, where nothing else waits for an answer. */
function askQuestion(pieces: readonly Piece[], id: string): readonly Piece[] {
  if (pieces.some(({ wait }) => wait)) return pieces
  const last = pieces.findLastIndex(({ kind }) => kind === 'text')
  const wait = { id, reason: 'input', state: 'open' } as const
  return pieces.map((piece, index) =>
    index === last ? { ...piece, kind: 'input_required', role: 'tool', wait } : piece,
  )
}

function readBehind({ behind }: SaidRow): Partial<Pick<NormalizedResponse, BehindMember>> {
  return behind === null ? {} : parseJson<NormalizedResponse>(behind)
}
