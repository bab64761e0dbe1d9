// Stores the actions of agents.
import type { PlannedAction } from '@postern/pipeline'
import { createMessageInserter } from '../../messages/insert-message.ts'
import type { MessageDraft } from '../../messages/message-draft.ts'
import { draftMessage } from '../../messages/message-draft.ts'
import type { ReadMessage } from '../../messages/read-message.ts'
import type { ResponsePosition, ResponseTable } from '../../messages/responses.ts'
import { setThreadId } from '../../messages/responses.ts'
import type { Sql } from '../../sql/sql.ts'
import type { AssignedThread, ThreadTable } from '../../threads/threads.ts'
import { nameScopeOf, publicIdOf } from '../../threads/threads.ts'
import type { Batch } from '../../transaction/batch.ts'
import { noteChange } from '../../transaction/notices.ts'
import type { NewDelivery } from '../deliveries/new-delivery.ts'
import type { TurnTable } from '../turns/turn-table.ts'
import type { ActionDraft, ActionWriter } from './action-draft.ts'
import type { PartialAnswerDraft, PartialAnswerTable } from './partial-answers.ts'
import { draftPartialAnswer } from './partial-answers.ts'

type ActionKind = PlannedAction['kind']
type ActionOf<K extends ActionKind> = Extract<PlannedAction, { kind: K }>

function draftAction(act: PlannedAction): ActionDraft {
  return { act, partialAnswer: act.kind === 'post' ? draftPartialAnswer(act.answer, act.answer.response) : undefined }
}

type Write<K extends ActionKind> = (batch: Batch, act: ActionOf<K>, draft: ActionDraft, context: ActionContext) => void

interface ActionContext {
  readonly correlationId: string
  readonly now: number
}

/** Tables that actions write to. */
export interface ActionWriterDeps {
  readonly threads: ThreadTable
  readonly turns: TurnTable
  readonly responses: ResponseTable
  readonly partialAnswers: PartialAnswerTable
  readonly readMessage: ReadMessage
}

export function createActionWriter(db: Sql, tables: ActionWriterDeps): ActionWriter {
  const admitSyntheticMessage = createSyntheticAdmission(db, tables)
  const findUnretracted = (id: string) => {
    const position = tables.responses.findPosition(id)
    return position?.retracted_at === null ? position : undefined
  }

  const writers: { readonly [K in ActionKind]: Write<K> } = {
    post(batch, { syntheticMessage: synthetic, answer }, { partialAnswer }, { correlationId, now }) {
      // An id that exists already stays with its message.
      if (tables.responses.findPosition(answer.response.id)) return
      // A conversation that was forgotten in the meantime is not created again.
      if (synthetic.thread.joined && tables.threads.find(synthetic) === undefined) return
      const position = admitSyntheticMessage(batch, draftMessage(synthetic, correlationId), now)
      noteChange(batch, 'message', position.message)
      const { agent, message } = synthetic
      tables.partialAnswers.say(batch, partialAnswer && nameThread(partialAnswer, position), answer, {
        message: position.message,
        thread: position.thread,
        agent,
        channel: message.received_via,
        task: undefined,
        now,
      })
    },
    tell(batch, { syntheticMessage: synthetic, deliveryPlan: planned }, _, { correlationId, now }) {
      const { message, thread } = admitSyntheticMessage(batch, draftMessage(synthetic, correlationId), now)
      const { agent } = synthetic
      const { received_via: via } = synthetic.message
      tables.partialAnswers.send(batch, planned, { message, thread, response: undefined, agent, channel: via, now })
    },
    edit(batch, { response, blobs = [], deliveryPlan: planned }, _, { now }) {
      const position = findUnretracted(response.id)
      if (!position) return
      tables.partialAnswers.reword(batch, position, { response, blobs }, now)
      tables.partialAnswers.send(batch, planned, newDeliveryOf(position, now))
    },
    delete(batch, { response, deliveryPlan: planned }, _, { now }) {
      const position = findUnretracted(response)
      if (!position) return
      tables.partialAnswers.retract(batch, position, now)
      tables.partialAnswers.send(batch, planned, newDeliveryOf(position, now))
    },
    react(batch, { message, deliveryPlan: planned }, _, { now }) {
      const { agent, via, thread, flags } = tables.readMessage(message)
      if (flags.includes('deleted')) return
      tables.partialAnswers.send(batch, planned, { message, response: undefined, thread, agent, channel: via, now })
    },
  }
  return {
    draft: draftAction,
    write: (batch, draft, correlationId, now) =>
      writers[draft.act.kind](batch, draft.act as never, draft, { correlationId, now }),
  }
}

/** Prepares the insert of the message to which the content of an action belongs. Nobody has sent it, and it counts as answered. */
function createSyntheticAdmission(db: Sql, { threads, turns }: Pick<ActionWriterDeps, 'threads' | 'turns'>) {
  const insertMessage = createMessageInserter(db)
  return (batch: Batch, draft: MessageDraft, now: number): AssignedThread & { message: number } => {
    const { intake } = draft
    const position = threads.assignThread(batch, intake, threads.find(intake))
    const { thread } = position
    const message = insertMessage(draft, { thread, task: undefined, scope: 'kept', at: now })
    threads.addNames(position, nameScopeOf(intake), { message, id: intake.message.id, aliases: [] })
    turns.addAnswered(batch, { message, agent: intake.agent, thread, task: undefined, now })
    return { message, ...position }
  }
}

/** Adds the thread's id, which the store has drawn, to the response of a post that begins a thread. */
function nameThread(draft: PartialAnswerDraft, { newThread }: AssignedThread): PartialAnswerDraft {
  const { response } = draft.answer
  if (!newThread || !response) return draft
  return { ...draft, response: setThreadId(draft.response, response, publicIdOf(newThread)) }
}

function newDeliveryOf({ seq, message, thread_id, agent, channel }: ResponsePosition, now: number): NewDelivery {
  return { message, response: seq, thread: thread_id, agent, channel, now }
}
