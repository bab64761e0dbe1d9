import type { Answer, Json, MessageState, NormalizedResponse, TaskState, Turn, WorkDesk } from '@postern/core'
import type { Batch } from './batch.ts'
import { moveTotal } from './batch.ts'
import { formatJson, prepareQuery } from './database.ts'
import type { EntryDraft } from './entries.ts'
import { draftResponseEntry } from './entries.ts'
import { refuseLostLease } from './lease.ts'
import { formatEnvelope } from './responses.ts'
import type { Store } from './store.ts'
import type { Tables } from './tables.ts'

/** An answer as its columns, made before the transaction. */
interface Draft {
  readonly state: MessageState
  readonly taskState: TaskState
  readonly answer: Answer
  readonly said: { readonly id: string; readonly entry: EntryDraft; readonly envelope: string } | undefined
  readonly agentState: string | undefined
}

interface EndedTurn {
  readonly thread: number
  readonly task: number | undefined
}

export function createCommit({ db, write, now }: Store, tables: Tables): Pick<WorkDesk, 'commit'> {
  const end = prepareQuery<{ thread_id: number; task_id: number | null }>(
    db,
    `UPDATE turns SET state = ?, due_at = NULL, holder = NULL, ended_at = ?, error = ?
     WHERE message = ? AND token = ? AND holder IS NOT NULL RETURNING thread_id, task_id`,
  )
  const writeState = prepareQuery(
    db,
    `INSERT INTO agent_states (thread_id, agent, state) VALUES (?, ?, ?)
     ON CONFLICT DO UPDATE SET state = excluded.state`,
  )

  function commitDraft(batch: Batch, turn: Turn, draft: Draft): number {
    const at = now()
    const row = end.get(draft.state, at, draft.answer.error ?? null, turn.message, turn.token)
    if (!row) return 0
    const ended = { thread: row.thread_id, task: row.task_id ?? undefined }
    const response = sayResponse(turn, draft, ended)
    if (draft.agentState !== undefined) writeState.run(ended.thread, turn.agent, draft.agentState)
    const { agent, via } = turn
    const cause = { message: turn.message, response, thread: ended.thread, agent, via, now: at }
    tables.deliveries.queue(batch, draft.answer.deliveries, cause)
    if (ended.task !== undefined) tables.tasks.finish(ended.task, draft.taskState, response, at)
    tables.turns.promoteNext(batch, ended.thread, at)
    moveTotal(batch, 'messages.working', `messages.${draft.state}`)
    batch.notices.push({ topic: `message:${turn.message}`, payload: { kind: 'settled' } })
    return 1
  }

  function sayResponse(turn: Turn, { said, answer }: Draft, ended: EndedTurn): number | undefined {
    if (!said) return undefined
    const seq = tables.entries.append(said.entry, { ...ended, answers: turn.message })
    tables.responses.insert(seq, turn, { ...said, isListed: answer.isListed === true })
    const naming = { message: turn.message, id: said.id, aliases: answer.aliases ?? [] }
    tables.threads.addNames(ended.thread, tables.threads.scopeOf(ended.thread), naming)
    return seq
  }

  return {
    async commit(turn, answer) {
      const draft = draftAnswer(answer)
      refuseLostLease(await write(batch => commitDraft(batch, turn, draft)), `turn ${turn.message}`)
    },
  }
}

function draftAnswer(answer: Answer): Draft {
  const { response, state } = answer
  return {
    state: stateAfter(answer),
    taskState: response?.status ?? (answer.error === undefined ? 'completed' : 'failed'),
    answer,
    said: response && draftResponse(response),
    agentState: formatState(state),
  }
}

function draftResponse(response: NormalizedResponse): Draft['said'] {
  return { id: response.id, entry: draftResponseEntry(response), envelope: formatEnvelope(response) }
}

function formatState(state: Json | undefined): string | undefined {
  return state === undefined ? undefined : formatJson(state)
}

function stateAfter({ response, error }: Answer): MessageState {
  if (response) return response.status === 'failed' ? 'failed' : 'answered'
  return error === undefined ? 'ignored' : 'failed'
}
