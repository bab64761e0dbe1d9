// Reads messages, answers and notes of the store as entries of a transcript.
import type { NormalizedResponse, Part, PolicyResolution } from '@postern/message'
import type { Entry } from '@postern/pipeline'
import { formatTurnId, timeoutMethod } from '@postern/pipeline'
import type { EntryBody, EntryDecision, LosslessDiff } from '@postern/transcript'
import { decisionOf, isChatVisible, nameEntries } from '@postern/transcript'
import type { ChannelFacts } from '../../channels/channel-facts.ts'
import { parseJson } from '../../sql/json-columns.ts'
import type { Operation } from '../../sql/operation.ts'
import type { EntryRow } from '../../threads/entries.ts'
import { getRole } from '../../threads/entries.ts'
import { entriesWithMessage, fromChatCondition, ownMessageCondition } from '../../threads/person-messages.ts'
import type { StoreContext } from '../../transaction/store-context.ts'
import type { BoundConversation } from './bound-conversation.ts'
import type { FindDiff } from './diff.ts'
import type { EntryPosition } from './entry-position.ts'
import { createGatewayReplyFinder } from './gateway-replies.ts'
import { createStoreNotes, mergeByPosition } from './note-entries.ts'
import type { Piece } from './split-parts.ts'
import { splitIntoPieces } from './split-parts.ts'

type ChatOnlyMember = 'speaker' | 'trace' | 'status' | 'unfinished' | 'chat_metadata' | 'usage'

interface StoredEntryRow extends Omit<EntryRow, 'entry_id'> {
  readonly answers: number | null
  readonly agent: string
  readonly channel: string
  readonly scope: string
  readonly run_id: string | null
  readonly asked_at: string | null
  /** The decision that a message reports, as JSON. */
  readonly resolution: string | null
  /** The envelope of an answer, or null for a message. */
  readonly behind: string | null
}

/** The stage of commands to the gateway and of its replies. */
const gatewayStage = 'gateway'

/** Reads the entries of the transcript that the store has as messages, answers and notes, so that they are not copied. */
export interface StoreEntries {
  /**
   * Reads the entries of a message, answer or note. Returns undefined if it was deleted. With `isExact`, the entries contain the difference to the
   * original, which may be large.
   */
  read(seq: number, thread_id: string, isExact?: boolean): Operation<readonly EntryBody[] | undefined>
  /**
   * Lists the first entries of a conversation that a thread does not have yet, by position. If the binding has a `reader`, the list contains only the
   * messages of these principals and the answers to them.
   */
  listNew(bound: BoundConversation, limit: number): Operation<readonly EntryPosition[]>
  /** Finds the position from which open turns may still add entries. */
  findOpenPosition(storeThread: number): Operation<number>
}

/** Selects a message or answer. `asked_at` is the time of the message that an answer answers. */
const selectStored = (
  channels: ChannelFacts,
) => `SELECT e.seq, e.answers, e.native_id, e.kind, e.author, e.content, e.at, t.agent, k.native_id AS run_id, q.at AS asked_at,
  CASE WHEN e.kind = 'message' THEN json_extract(e.envelope, '$.policy_resolution') END AS resolution,
  CASE WHEN e.kind = 'message' AND ${fromChatCondition(channels, 'e')} THEN json_extract(e.envelope, '$.received_via') ELSE t.channel END AS channel,
  CASE WHEN e.kind = 'response' THEN e.envelope END AS behind, e.scope
  FROM messages e JOIN threads t ON t.id = e.thread_id LEFT JOIN tasks k ON k.id = e.task_id
  LEFT JOIN messages q ON q.seq = e.answers WHERE e.seq = ?`

export function createStoreEntries(
  { db, channels }: Pick<StoreContext, 'db' | 'channels'>,
  findDiff: FindDiff,
): StoreEntries {
  const positionSql = 'coalesce(answers, seq)'
  const notes = createStoreNotes(db)
  const listGatewayReplies = createGatewayReplyFinder(db)
  const findStored = db.prepare<StoredEntryRow>(selectStored(channels))
  // The order is the order of an index, so that a query for the first rows reads only the index.
  const newCondition = (seq: string) =>
    `NOT EXISTS (SELECT 1 FROM transcript_entries x WHERE x.thread = ?3 AND x.store_seq = ${seq})`
  const listNew = db.prepare<EntryPosition>(
    `SELECT seq, ${positionSql} AS position FROM messages WHERE thread_id = ?1 AND scope = 'conversation' AND ${positionSql} >= ?2
       AND ${newCondition('messages.seq')} ORDER BY ${positionSql}, seq LIMIT +?4`,
  )
  const listOwnMessages = db.prepare<EntryPosition>(
    `SELECT e.seq, coalesce(e.answers, e.seq) AS position FROM ${entriesWithMessage} WHERE e.thread_id = ?1 AND e.scope = 'conversation'
       AND coalesce(e.answers, e.seq) >= ?2 AND ${newCondition('e.seq')} AND ${ownMessageCondition('?5', channels)}
       AND e.kind <> 'context' ORDER BY coalesce(e.answers, e.seq), e.seq LIMIT +?4`,
  )
  const findFirstOpenTurn = db.prepare<{ message: number | null }>(
    'SELECT min(message) AS message FROM turns WHERE thread_id = ? AND ended_at IS NULL',
  )
  // The background of a message has the position of the previous message, and may arrive until the turn ends.
  const findPositionBefore = db.prepare<{ position: number | null }>(
    `SELECT max(${positionSql}) AS position FROM messages WHERE thread_id = ? AND scope = 'conversation' AND ${positionSql} < ?`,
  )
  return {
    *read(seq, thread_id, isExact = false) {
      const noteEntries = yield* notes.read(seq, thread_id)
      if (noteEntries) return noteEntries
      const row = yield* findStored.get(seq)
      function* diffOf(entryRun: EntryRun) {
        return isExact ? yield* findDiff(seq, entryRun) : { of: entryRun.length }
      }
      return row && (yield* writeEntries(row, thread_id, { diffOf, chats: channels.chats }))
    },
    *listNew(bound, limit) {
      const { thread, store_thread, position: firstPosition, reader } = bound
      const entryRun =
        reader === null
          ? mergeByPosition(
              yield* listNew.all(store_thread, firstPosition, thread, limit),
              yield* notes.listNew(store_thread, firstPosition, thread, limit),
            )
          : yield* listOwnMessages.all(store_thread, firstPosition, thread, limit, reader)
      return mergeByPosition(entryRun, yield* listGatewayReplies(bound, limit)).slice(0, limit)
    },
    *findOpenPosition(storeThread) {
      const firstOpenTurn = (yield* findFirstOpenTurn.get(storeThread))?.message ?? Number.MAX_SAFE_INTEGER
      return (yield* findPositionBefore.get(storeThread, firstOpenTurn))?.position ?? 0
    },
  }
}

type EntryRun = Parameters<FindDiff>[1]

/** Finds the piece that reports the usage, which is the first piece that a chat shows. */
function findUsagePiece(pieces: readonly Piece[]): number {
  const visibleIndex = pieces.findIndex(piece => isChatVisible(piece, false))
  return Math.max(0, visibleIndex)
}

function* writeEntries(
  row: StoredEntryRow,
  thread_id: string,
  { diffOf, chats }: { diffOf(entries: EntryRun): Operation<LosslessDiff>; readonly chats: readonly string[] },
): Operation<readonly EntryBody[]> {
  const role = getRole(row.kind)
  const members = readChatOnlyMembers(row)
  const { speaker = row.agent, trace = [], status, unfinished = [], usage, chat_metadata: metadata } = members
  const splitPieces = [
    ...writeUnfinished(unfinished),
    ...splitIntoPieces(parseJson<readonly Part[]>(row.content), role),
  ]
  const pieces =
    status === 'input_required' && row.native_id !== null ? askQuestion(splitPieces, row.native_id) : splitPieces
  const decided_by = row.resolution === null ? undefined : decisionOf(parseJson<PolicyResolution>(row.resolution))
  const author = decided_by ? findDecisionAuthor(decided_by, row) : parseJson<Entry['author']>(row.author)
  const isAnswer = role === 'assistant'
  const latency = isAnswer && row.asked_at !== null ? Date.parse(row.at) - Date.parse(row.asked_at) : undefined
  const sharedMembers = {
    thread_id,
    at: new Date(row.at).toISOString(),
    author: {
      address: author.address,
      ...(author.display_name !== undefined && { display_name: author.display_name }),
    },
    ...(isAnswer && { agent_key: speaker }),
    ...(decided_by && { decided_by }),
    ...findTurnId(row),
    ...(row.run_id !== null && { run_id: row.run_id }),
    ...(!chats.includes(row.channel) && { via: row.channel }),
    ...(row.scope === 'gateway_reply' && { stage: gatewayStage }),
  }
  const usagePiece = findUsagePiece(pieces)
  const names = listChatIds(pieces, row)
  const entries: readonly EntryBody[] = pieces.map((piece, index) => ({
    entry_id: index === 0 ? `store-${row.seq}` : `store-${row.seq}.${index}`,
    ...(index === 0 && row.native_id !== null && { native_id: row.native_id }),
    ...names[index],
    ...sharedMembers,
    ...(pieces.length > 1 && { group_id: `store-${row.seq}` }),
    ...((index === 0 || isChatVisible(piece, false)) && latency !== undefined && { latency_ms: Math.max(0, latency) }),
    ...(index === usagePiece && metadata && { metadata }),
    ...(index === usagePiece && usage && { usage }),
    ...piece,
  }))
  const callPieces = trace.flatMap(call =>
    splitIntoPieces([call], 'assistant').map(piece => ({ agent_key: call.agent, piece })),
  )
  const callNames = listChatIds(
    callPieces.map(({ piece }) => piece),
    row,
  )
  return [
    ...callPieces.map(({ agent_key = speaker, piece }, index) => {
      const entry_id = `store-${row.seq}.t${index}`
      return { entry_id, ...callNames[index], ...sharedMembers, agent_key, ...piece, ext: { normalized: { of: 0 } } }
    }),
    ...(yield* withDiff(entries, diffOf)),
  ]
}

/** Lists the ids under which a chat shows the pieces of a message. The first piece has the id of the message. */
function listChatIds(
  pieces: readonly Piece[],
  { native_id }: Pick<StoredEntryRow, 'native_id'>,
): readonly Pick<EntryBody, 'message_id'>[] {
  if (native_id === null) return []
  return nameEntries(native_id, pieces).map((message_id, index) =>
    index === 0 && message_id === native_id ? {} : { message_id },
  )
}

/** Returns the author of a decision. This is the gateway for an expired requirement, the operator who decided, or else the author of the message. */
function findDecisionAuthor({ method, subject, approver }: EntryDecision, { author }: StoredEntryRow): Entry['author'] {
  if (method === timeoutMethod) return { address: gatewayStage }
  if (approver === undefined) return parseJson<Entry['author']>(author)
  return { address: approver, ...(subject !== undefined && { display_name: subject }) }
}

function* withDiff(
  [head, ...otherEntries]: readonly EntryBody[],
  diffOf: (entries: EntryRun) => Operation<LosslessDiff>,
): Operation<readonly EntryBody[]> {
  return head ? [{ ...head, ext: { normalized: yield* diffOf([head, ...otherEntries]) } }, ...otherEntries] : []
}

/** Builds the pieces of an answer that failed after it had begun. The error follows them. */
function writeUnfinished(parts: readonly Part[]): readonly Piece[] {
  return parts.length === 0 ? [] : splitIntoPieces(parts, 'assistant').map(piece => ({ ...piece, is_incomplete: true }))
}

/** Marks the last text of an agent as a question, unless another piece already waits for an answer. */
function askQuestion(pieces: readonly Piece[], id: string): readonly Piece[] {
  if (pieces.some(({ wait }) => wait)) return pieces
  const lastText = pieces.findLastIndex(({ kind }) => kind === 'text')
  const wait = { id, reason: 'input', state: 'open' } as const
  return pieces.map((piece, index) =>
    index === lastText ? { ...piece, kind: 'input_required', role: 'tool', wait } : piece,
  )
}

/** Returns the turn of an entry. The background of a message belongs to no turn. */
function findTurnId({ seq, answers, kind }: StoredEntryRow): Pick<EntryBody, 'turn_id'> {
  return (answers === null) === (getRole(kind) === 'user') ? { turn_id: formatTurnId(answers ?? seq) } : {}
}

function readChatOnlyMembers({ behind }: StoredEntryRow): Partial<Pick<NormalizedResponse, ChatOnlyMember>> {
  return behind === null ? {} : parseJson<NormalizedResponse>(behind)
}
