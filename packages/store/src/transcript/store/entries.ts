import type { Entry, NormalizedResponse, Part, PolicyResolution } from '@postern/core'
import { formatTurnId, timeoutMethod } from '@postern/core'
import type { EntryBody, EntryDecision, LosslessDiff } from '@postern/transcript'
import { decisionOf, isChatVisible } from '@postern/transcript'
import type { ChannelFacts } from '../../channels/facts.ts'
import type { EntryRow } from '../../conversations/entries.ts'
import { roleOf } from '../../conversations/entries.ts'
import { isFromChat, isOwnMessage, saidInThread } from '../../conversations/person-words.ts'
import { parseJson } from '../../engine/database.ts'
import type { StoreContext } from '../../engine/store-context.ts'
import type { FindDiff } from './diff.ts'
import { createGatewayReplyFinder } from './gateway-replies.ts'
import { createStoreNotes, mergePlaces } from './notes.ts'
import type { SaidPlace, StoreBound } from './place.ts'
import type { Piece } from './split-parts.ts'
import { splitIntoPieces } from './split-parts.ts'

type BehindMember = 'speaker' | 'trace' | 'status' | 'unfinished' | 'chat_metadata' | 'usage'

interface SaidRow extends Omit<EntryRow, 'entry_id'> {
  readonly answers: number | null
  readonly agent: string
  readonly channel: string
  readonly scope: string
  readonly run_id: string | null
  readonly asked_at: string | null
  /** Of words that say what was decided. */
  readonly resolution: string | null
  /** Of an answer: what stands behind it. */
  readonly behind: string | null
}

/** Of what the gateway was asked and answered itself. */
const gatewayStage = 'gateway'

/** What the store keeps of a conversation, as entries of the transcript. Nothing is copied: the store has the words. */
export interface StoreEntries {
  /** One message, answer or note; undefined when it is gone. `isExact`: with what was handled besides, which may be large. */
  read(seq: number, thread_id: string, isExact?: boolean): readonly EntryBody[] | undefined
  /**
   * What a thread does not have yet of a conversation, `most` at a time, by place; with `reader`, a JSON list of principals, only their words
   * and the answers to them.
   */
  listNew(bound: StoreBound, most: number): readonly SaidPlace[]
  /** From which place on something may still be said. */
  findOpenPlace(storeThread: number): number
}

/** The latency of an answer counts from the message it answers. */
const selectSaid = (
  channels: ChannelFacts,
) => `SELECT e.seq, e.answers, e.native_id, e.kind, e.author, e.content, e.at, t.agent, k.native_id AS run_id, q.at AS asked_at,
  CASE WHEN e.kind = 'message' THEN json_extract(e.envelope, '$.policy_resolution') END AS resolution,
  CASE WHEN e.kind = 'message' AND ${isFromChat(channels, 'e')} THEN json_extract(e.envelope, '$.received_via') ELSE t.channel END AS channel,
  CASE WHEN e.kind = 'response' THEN e.envelope END AS behind, e.scope
  FROM messages e JOIN threads t ON t.id = e.thread_id LEFT JOIN tasks k ON k.id = e.task_id
  LEFT JOIN messages q ON q.seq = e.answers WHERE e.seq = ?`

export function createStoreEntries(
  { db, channels }: Pick<StoreContext, 'db' | 'channels'>,
  findDiff: FindDiff,
): StoreEntries {
  const place = 'coalesce(answers, seq)'
  const notes = createStoreNotes(db)
  const listGatewayReplies = createGatewayReplyFinder(db)
  const findSaid = db.prepare<SaidRow>(selectSaid(channels))
  // By place, so that the first of very many are read from an index alone.
  const isNew = (seq: string) =>
    `NOT EXISTS (SELECT 1 FROM transcript_entries x WHERE x.thread = ?3 AND x.store_seq = ${seq})`
  const listNew = db.prepare<SaidPlace>(
    `SELECT seq, ${place} AS position FROM messages WHERE thread_id = ?1 AND scope = 'conversation' AND ${place} >= ?2
       AND ${isNew('messages.seq')} ORDER BY ${place}, seq LIMIT +?4`,
  )
  const listOwn = db.prepare<SaidPlace>(
    `SELECT e.seq, coalesce(e.answers, e.seq) AS position FROM ${saidInThread} WHERE e.thread_id = ?1 AND e.scope = 'conversation'
       AND coalesce(e.answers, e.seq) >= ?2 AND ${isNew('e.seq')} AND ${isOwnMessage('?5', channels)}
       AND e.kind <> 'context' ORDER BY coalesce(e.answers, e.seq), e.seq LIMIT +?4`,
  )
  const findFirstOpen = db.prepare<{ message: number | null }>(
    'SELECT min(message) AS message FROM turns WHERE thread_id = ? AND ended_at IS NULL',
  )
  // What was said before a message is placed behind the message before it, and may come as long as its turn goes on.
  const findPlaceBefore = db.prepare<{ position: number | null }>(
    `SELECT max(${place}) AS position FROM messages WHERE thread_id = ? AND scope = 'conversation' AND ${place} < ?`,
  )
  return {
    read(seq, thread_id, isExact = false) {
      const noted = notes.read(seq, thread_id)
      if (noted) return noted
      const row = findSaid.get(seq)
      const diffOf = (said: Said) => (isExact ? findDiff(seq, said) : { of: said.length })
      return row && writeEntries(row, thread_id, { diffOf, chats: channels.chats })
    },
    listNew(bound, most) {
      const { thread, store_thread, position: from, reader } = bound
      const said =
        reader === null
          ? mergePlaces(listNew.all(store_thread, from, thread, most), notes.listNew(store_thread, from, thread, most))
          : listOwn.all(store_thread, from, thread, most, reader)
      return mergePlaces(said, listGatewayReplies(bound, most)).slice(0, most)
    },
    findOpenPlace(storeThread) {
      const open = findFirstOpen.get(storeThread)?.message ?? Number.MAX_SAFE_INTEGER
      return findPlaceBefore.get(storeThread, open)?.position ?? 0
    },
  }
}

type Said = Parameters<FindDiff>[1]

/** With which piece what it cost is told: the first that a chat sees. */
function findCostPlace(pieces: readonly Piece[]): number {
  const seen = pieces.findIndex(piece => isChatVisible(piece, false))
  return Math.max(0, seen)
}

function writeEntries(
  row: SaidRow,
  thread_id: string,
  { diffOf, chats }: { diffOf(said: Said): LosslessDiff; readonly chats: readonly string[] },
): readonly EntryBody[] {
  const role = roleOf(row.kind)
  const { speaker = row.agent, trace = [], status, unfinished = [], usage, chat_metadata: metadata } = readBehind(row)
  const split = [...writeUnfinished(unfinished), ...splitIntoPieces(parseJson<readonly Part[]>(row.content), role)]
  const pieces = status === 'input_required' && row.native_id !== null ? askQuestion(split, row.native_id) : split
  const decided_by = row.resolution === null ? undefined : decisionOf(parseJson<PolicyResolution>(row.resolution))
  const author = decided_by ? authorOfDecision(decided_by, row) : parseJson<Entry['author']>(row.author)
  const isAnswer = role === 'assistant'
  const latency = isAnswer && row.asked_at !== null ? Date.parse(row.at) - Date.parse(row.asked_at) : undefined
  const common = {
    thread_id,
    at: new Date(row.at).toISOString(),
    author: {
      address: author.address,
      ...(author.display_name !== undefined && { display_name: author.display_name }),
    },
    ...(isAnswer && { agent_key: speaker }),
    ...(decided_by && { decided_by }),
    ...turnOf(row),
    ...(row.run_id !== null && { run_id: row.run_id }),
    ...(!chats.includes(row.channel) && { via: row.channel }),
    ...(row.scope === 'gateway_reply' && { stage: gatewayStage }),
  }
  const costPlace = findCostPlace(pieces)
  const said: readonly EntryBody[] = pieces.map((piece, index) => ({
    entry_id: index === 0 ? `store-${row.seq}` : `store-${row.seq}.${index}`,
    ...(index === 0 && row.native_id !== null && { native_id: row.native_id }),
    ...common,
    ...(pieces.length > 1 && { group_id: `store-${row.seq}` }),
    ...(index === 0 && latency !== undefined && { latency_ms: Math.max(0, latency) }),
    ...(index === 0 && metadata && { metadata }),
    ...(index === costPlace && usage && { usage }),
    ...piece,
  }))
  const done = trace.flatMap(call =>
    splitIntoPieces([call], 'assistant').map(piece => ({ agent_key: call.agent, piece })),
  )
  return [
    ...done.map(({ agent_key = speaker, piece }, index) => {
      return { entry_id: `store-${row.seq}.t${index}`, ...common, agent_key, ...piece, ext: { normalized: { of: 0 } } }
    }),
    ...withDiff(said, diffOf),
  ]
}

/** What an operator decides is no word of who is talking, though it is answered to them; what nobody has decided is the gateway's. */
function authorOfDecision({ method, subject, approver }: EntryDecision, { author }: SaidRow): Entry['author'] {
  if (method === timeoutMethod) return { address: gatewayStage }
  if (approver === undefined) return parseJson<Entry['author']>(author)
  return { address: approver, ...(subject !== undefined && { display_name: subject }) }
}

function withDiff([head, ...rest]: readonly EntryBody[], diffOf: (said: Said) => LosslessDiff): readonly EntryBody[] {
  return head ? [{ ...head, ext: { normalized: diffOf([head, ...rest]) } }, ...rest] : []
}

/** What was heard of an answer before it failed is the answer, as far as it came; why there is no more follows it. */
function writeUnfinished(parts: readonly Part[]): readonly Piece[] {
  return parts.length === 0 ? [] : splitIntoPieces(parts, 'assistant').map(piece => ({ ...piece, is_incomplete: true }))
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

/** What was said before a message stands behind another one, and is of no turn. */
function turnOf({ seq, answers, kind }: SaidRow): Pick<EntryBody, 'turn_id'> {
  return (answers === null) === (roleOf(kind) === 'user') ? { turn_id: formatTurnId(answers ?? seq) } : {}
}

function readBehind({ behind }: SaidRow): Partial<Pick<NormalizedResponse, BehindMember>> {
  return behind === null ? {} : parseJson<NormalizedResponse>(behind)
}
