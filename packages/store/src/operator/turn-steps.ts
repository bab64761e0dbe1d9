// Reads the steps of a turn with their times: the stages, the calls to other agents, and other notes.
import type { TurnStep } from '@postern/message'
import { parseJson } from '../sql/json-columns.ts'
import type { Operation } from '../sql/operation.ts'
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
interface StepNoteBody {
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

/** The maximum number of notes of one turn. */
const maxNotes = 500
/** The maximum number of rows after a message among which its calls are searched. A turn makes its calls soon after its message. */
const maxScannedRows = 2_000

export function createTurnStepReader(db: Sql): (message: number, thread: number) => Operation<readonly TurnStep[]> {
  const listNotes = db.prepare<NoteRow>(
    `SELECT at, content FROM messages WHERE thread_id = ?1 AND scope = 'trace' AND answers = ?2 ORDER BY answers, seq LIMIT ${maxNotes}`,
  )
  const listCalls = db.prepare<CallRow>(
    `SELECT seq AS number, json_extract(envelope, '$.recipient') AS recipient FROM messages
     WHERE seq > ?1 AND seq <= ?1 + ${maxScannedRows} AND kind = 'message' AND CAST(json_extract(envelope, '$.called_by.message') AS INTEGER) = ?1 ORDER BY seq`,
  )
  return function* (message, thread) {
    const notes = (yield* listNotes.all(thread, message)).map(({ at, content }) => ({
      at: Date.parse(at),
      body: parseJson<StepNoteBody>(content),
    }))
    const hasCalls = notes.some(({ body }) => body.kind === 'delegation')
    const calls = hasCalls ? yield* listCalls.all(message) : []
    const callResults = new Map(
      notes.flatMap(note => (isCallResult(note.body) ? [[note.body.tool?.call_id, note]] : [])),
    )
    const callsByRecipient = Map.groupBy(calls, ({ recipient }) => recipient.toLowerCase())
    const steps = notes.flatMap(({ at, body }): readonly TurnStep[] => {
      if (body.stage !== undefined && body.kind === 'activity') return [describeStage(at, body)]
      if (body.kind === 'delegation') {
        const worker = body.tool?.args?.worker ?? ''
        const result = callResults.get(body.tool?.call_id)
        return [
          describeCall({
            at,
            worker,
            result,
            messageNumber: callsByRecipient.get(worker.toLowerCase())?.shift()?.number,
          }),
        ]
      }
      return isCallResult(body) ? [] : [{ kind: 'note', name: body.kind, at }]
    })
    // A stage precedes the steps within it that have the same time.
    return steps.toSorted((a, b) => a.at - b.at || Number(b.kind === 'stage') - Number(a.kind === 'stage'))
  }
}

function isCallResult({ kind, tool }: StepNoteBody): boolean {
  return kind === 'tool_result' && tool?.name === 'delegate'
}

function describeStage(at: number, { stage = '', latency_ms: ms = 0 }: StepNoteBody): TurnStep {
  return { kind: 'stage', name: stage, at: at - ms, ms }
}

interface AgentCall {
  readonly at: number
  readonly worker: string
  readonly result: { readonly at: number; readonly body: StepNoteBody } | undefined
  readonly messageNumber: number | undefined
}

function describeCall({ at, worker, result, messageNumber: number }: AgentCall): TurnStep {
  const error = result?.body.tool?.error?.message
  return {
    kind: 'call',
    name: worker,
    at,
    ...(result && { ms: Math.max(0, result.at - at) }),
    ...(number !== undefined && { message: number }),
    ...(error !== undefined && { error }),
  }
}
