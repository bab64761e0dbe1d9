// Reads the rows that explain a message.
import type { ChannelName, IntakeTrace } from '@postern/message'
import type { MessageState, TaskState, WhyRecord } from '@postern/pipeline'
import type { StoredEnvelope } from '../../messages/read-message.ts'
import { readAttempts } from '../../queue/turns/turn-attempts.ts'
import { parseJson } from '../../sql/json-columns.ts'
import type { Operation } from '../../sql/operation.ts'
import type { Sql } from '../../sql/sql.ts'

interface MessageRow {
  readonly number: number
  readonly native_id: string
  readonly agent: string
  readonly channel: ChannelName
  readonly task_id: number | null
  readonly flags: string | null
  readonly correlation_id: string
  readonly forgotten_at: number | null
  readonly envelope: string
  readonly duplicate_count: number
  readonly state: MessageState | null
  readonly attempt: number
  readonly crash_count: number
  readonly due_at: number | null
  readonly lease_owner: string | null
  readonly is_waiting: number
  readonly ready_at: number | null
  readonly ended_at: number | null
  readonly error: string | null
  readonly merged_into: number | null
  readonly turn_trace: string | null
  readonly intake_trace: string | null
  readonly blocking_message: number | null
  readonly blocking_due_at: number
  readonly blocking_owner: string | null
  readonly blocking_error: string | null
  readonly answered_at: string | null
  readonly status: TaskState
  readonly retracted_at: number | null
  readonly edited_message: number | null
}

/**
 * A message with its turn and its answer. A merged message has the turn of the message with which it is answered. A waiting turn includes the turn
 * for which it waits.
 */
export type WhyMessage = Pick<WhyRecord, 'message' | 'turn' | 'answer'>

/** Selects messages with their turns and answers. Exactly one turn of each open thread has `due_at`, and the other turns of the thread wait for that turn. */
const selectMessages = `SELECT m.seq AS number, m.native_id, m.agent, m.channel, m.task_id, m.flags, m.correlation_id, m.forgotten_at, m.envelope,
    coalesce(d.count, 0) AS duplicate_count, t.state, l.attempt, l.crash_count, l.due_at, l.lease_owner, l.is_waiting, l.ready_at,
    t.ended_at, coalesce(t.error, l.error) AS error, t.merged_into, l.trace AS turn_trace, m.trace AS intake_trace, h.message AS blocking_message, h.due_at AS blocking_due_at, h.lease_owner AS blocking_owner,
    h.error AS blocking_error, r.at AS answered_at, json_extract(r.envelope, '$.status') AS status, r.retracted_at,
    CASE WHEN m.flags LIKE '%"edit_applied"%' THEN (SELECT max(e.seq) FROM messages e JOIN turns et ON et.message = e.seq
      WHERE e.principal = m.principal AND e.object = m.object AND e.agent = m.agent AND e.seq < m.seq AND e.forgotten_at IS NULL) END AS edited_message
  FROM messages m LEFT JOIN turns t ON t.message = m.seq
    LEFT JOIN turns l ON l.message = coalesce(t.merged_into, t.message)
    LEFT JOIN turns h ON h.thread_id = l.thread_id AND l.due_at IS NULL AND h.ended_at IS NULL AND l.ended_at IS NULL AND h.due_at IS NOT NULL
    LEFT JOIN messages r ON r.answers = coalesce(t.merged_into, m.seq) AND r.kind = 'response'
    LEFT JOIN duplicates d ON d.message = m.seq
  WHERE m.seq IN (SELECT CAST(value AS INTEGER) FROM json_each(?)) AND m.kind = 'message'`

export function createWhyMessageReader(db: Sql): (numbers: string) => Operation<readonly WhyMessage[]> {
  const find = db.prepare<MessageRow>(selectMessages)
  return function* (numbers) {
    return (yield* find.all(numbers)).map(row => ({
      message: toMessage(row),
      turn: toTurn(row),
      answer: toAnswer(row),
    }))
  }
}

function toMessage(row: MessageRow): WhyRecord['message'] {
  const { sender, recipient, received_at, kind } = parseJson<StoredEnvelope>(row.envelope)
  const { sent_at } = row.intake_trace === null ? {} : parseJson<Partial<IntakeTrace>>(row.intake_trace)
  return {
    number: row.number,
    id: row.native_id,
    agent: row.agent,
    recipient,
    channel: row.channel,
    sender: sender.address,
    isVerified: sender.verified,
    kind: kind ?? 'message',
    receivedAt: Date.parse(received_at),
    flags: row.flags === null ? [] : parseJson(row.flags),
    duplicates: row.duplicate_count,
    correlationId: row.correlation_id,
    isTask: row.task_id !== null,
    ...(sent_at !== undefined && { sentAt: sent_at }),
    ...(row.forgotten_at !== null && { forgottenAt: row.forgotten_at }),
    ...(row.edited_message !== null && { changed: row.edited_message }),
  }
}

function toTurn(row: MessageRow): WhyRecord['turn'] {
  if (row.state === null) return undefined
  return {
    state: row.state,
    attempt: row.attempt,
    crashes: row.crash_count,
    isWaiting: row.is_waiting === 1,
    attempts: readAttempts(row.turn_trace),
    ...(row.due_at !== null && { dueAt: row.due_at }),
    ...(row.lease_owner !== null && { leaseOwner: row.lease_owner }),
    ...(row.ready_at !== null && { readyAt: row.ready_at }),
    ...(row.ended_at !== null && { endedAt: row.ended_at }),
    ...(row.error !== null && { error: row.error }),
    ...(row.merged_into !== null && { mergedInto: row.merged_into }),
    ...(row.blocking_message !== null && {
      ahead: {
        message: row.blocking_message,
        isLeased: row.blocking_owner !== null,
        dueAt: row.blocking_due_at,
        ...(row.blocking_error !== null && { error: row.blocking_error }),
      },
    }),
  }
}

function toAnswer({ answered_at, status, retracted_at }: MessageRow): WhyRecord['answer'] {
  if (answered_at === null) return undefined
  return { at: Date.parse(answered_at), status, ...(retracted_at !== null && { retractedAt: retracted_at }) }
}
