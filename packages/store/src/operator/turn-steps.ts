// Reads what an agent did in a turn: its stages, its calls to other agents, and its other notes, with their times.
import type { TurnStep } from '@postern/message'
import { parseJson } from '../sql/json-columns.ts'
import type { Sql } from '../sql/sql.ts'

interface NoteRow {
  readonly at: string
  readonly content: string
}

interface CallRow {
  readonly number: number
  readonly recipient: string
}

/** The members of a note that the steps show. */
interface NotedBody {
  readonly kind: string
  readonly stage?: string
  readonly latency_ms?: number
  readonly tool?: {
    readonly call_id?: string
    readonly name?: string
    readonly args?: { readonly worker?: string }
    readonly error?: { readonly message: string }
  }
}

/**
 * The maximum number of notes of one turn, and of rows after a message in which its calls are looked for. A turn makes its calls soon after its
 * message.
 */
const [maxNotes, maxScanned] = [500, 2_000]

export function createTurnSteps(db: Sql): (message: number, thread: number) => readonly TurnStep[] {
  const listNotes = db.prepare<NoteRow>(
    `SELECT at, content FROM messages WHERE thread_id = ?1 AND scope = 'trace' AND answers = ?2 ORDER BY answers, seq LIMIT ${maxNotes}`,
  )
  const listCalled = db.prepare<CallRow>(
    `SELECT seq AS number, json_extract(envelope, '$.recipient') AS recipient FROM messages
     WHERE seq > ?1 AND seq <= ?1 + ${maxScanned} AND kind = 'message' AND CAST(json_extract(envelope, '$.called_by.message') AS INTEGER) = ?1 ORDER BY seq`,
  )
  return (message, thread) => {
    const notes = listNotes
      .all(thread, message)
      .map(({ at, content }) => ({ at: Date.parse(at), body: parseJson<NotedBody>(content) }))
    const hasCalls = notes.some(({ body }) => body.kind === 'delegation')
    const calledRows = hasCalls ? listCalled.all(message) : []
    const endNotes = new Map(notes.flatMap(note => (isEnd(note.body) ? [[note.body.tool?.call_id, note]] : [])))
    const callsByRecipient = Map.groupBy(calledRows, ({ recipient }) => recipient.toLowerCase())
    const steps = notes.flatMap(({ at, body }): readonly TurnStep[] => {
      if (body.stage !== undefined && body.kind === 'activity') return [describeStage(at, body)]
      if (body.kind === 'delegation') {
        const worker = body.tool?.args?.worker ?? ''
        const end = endNotes.get(body.tool?.call_id)
        return [describeCall({ at, worker, end, number: callsByRecipient.get(worker.toLowerCase())?.shift()?.number })]
      }
      return isEnd(body) ? [] : [{ kind: 'note', name: body.kind, at }]
    })
    return steps.toSorted((a, b) => a.at - b.at || Number(b.kind === 'stage') - Number(a.kind === 'stage'))
  }
}

function isEnd({ kind, tool }: NotedBody): boolean {
  return kind === 'tool_result' && tool?.name === 'delegate'
}

function describeStage(at: number, { stage = '', latency_ms: ms = 0 }: NotedBody): TurnStep {
  return { kind: 'stage', name: stage, at: at - ms, ms }
}

interface ToolCallSpan {
  readonly at: number
  readonly worker: string
  readonly end: { readonly at: number; readonly body: NotedBody } | undefined
  readonly number: number | undefined
}

function describeCall({ at, worker, end, number }: ToolCallSpan): TurnStep {
  const error = end?.body.tool?.error?.message
  return {
    kind: 'call',
    name: worker,
    at,
    ...(end && { ms: Math.max(0, end.at - at) }),
    ...(number !== undefined && { message: number }),
    ...(error !== undefined && { error }),
  }
}
