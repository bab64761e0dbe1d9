// Stores the actions of agents, such as posts, edits and reactions.
import type { PlannedAction } from '@postern/pipeline'
import { createMessageInserter } from '../../messages/insert-message.ts'
import type { MessageDraft } from '../../messages/message-draft.ts'
import { draftMessage } from '../../messages/message-draft.ts'
import type { ReadMessage } from '../../messages/read-message.ts'
import type { ResponsePosition, ResponseTable } from '../../messages/responses.ts'
import { setThreadId } from '../../messages/responses.ts'
import type { Operation } from '../../sql/operation.ts'
import type { Sql } from '../../sql/sql.ts'
import type { AssignedThread, ThreadTable } from '../../threads/threads.ts'
import { nameScopeOf, publicIdOf } from '../../threads/threads.ts'
import type { Batch } from '../../transaction/batch.ts'
import { noteChange } from '../../transaction/notices.ts'
import type { DeliveryCause } from '../deliveries/new-delivery.ts'
import type { TurnTable } from '../turns/turn-table.ts'
import type { ActionDraft, ActionWriter } from './action-draft.ts'
import type { PartialAnswerDraft, PartialAnswerTable } from './partial-answers.ts'
import { draftPartialAnswer } from './partial-answers.ts'

type ActionKind = PlannedAction['kind']
type ActionOf<K extends ActionKind> = Extract<PlannedAction, { kind: K }>

function draftAction(action: PlannedAction): ActionDraft {
  return {
    action,
    partialAnswer: action.kind === 'post' ? draftPartialAnswer(action.answer, action.answer.response) : undefined,
  }
}

type WriteAction<K extends ActionKind> = (
  batch: Batch,
  action: ActionOf<K>,
  draft: ActionDraft,
  context: ActionContext,
) => Operation<void>

type ActionWriters = { readonly [K in ActionKind]: WriteAction<K> }

interface ActionContext {
  readonly correlationId: string
  readonly now: number
}

/** The tables to which actions write. */
export interface ActionWriterDeps {
  readonly threads: ThreadTable
  readonly turns: TurnTable
  readonly responses: ResponseTable
  readonly partialAnswers: PartialAnswerTable
  readonly readMessage: ReadMessage
}

export function createActionWriter(db: Sql, tables: ActionWriterDeps): ActionWriter {
  const { partialAnswers, readMessage } = tables
  const writers: ActionWriters = {
    ...createMessageWriters(db, tables),
    ...createAnswerChangeWriters(tables),
    *react(batch, { message, deliveryPlan }, _, { now }) {
      const { agent, via, thread, flags } = yield* readMessage(message)
      if (flags.includes('deleted')) return
      const cause = { message, response: undefined, thread, agent, channel: via, now }
      yield* partialAnswers.queueDeliveries(batch, deliveryPlan, cause)
    },
  }
  return {
    draft: draftAction,
    write: (batch, draft, correlationId, now) =>
      writers[draft.action.kind](batch, draft.action as never, draft, { correlationId, now }),
  }
}

/** Creates the writers of the actions that need a message of their own. */
function createMessageWriters(db: Sql, tables: ActionWriterDeps): Pick<ActionWriters, 'post' | 'tell'> {
  const admitSyntheticMessage = createSyntheticAdmission(db, tables)
  const { threads, partialAnswers, responses } = tables
  return {
    *post(batch, { syntheticMessage, answer }, { partialAnswer }, { correlationId, now }) {
      // A post with this id exists already.
      if (yield* responses.findPosition(answer.response.id)) return
      // A conversation that was forgotten in the meantime is not created again.
      if (syntheticMessage.thread.joined && (yield* threads.find(syntheticMessage)) === undefined) return
      const position = yield* admitSyntheticMessage(batch, draftMessage(syntheticMessage, correlationId), now)
      const { message, thread } = position
      noteChange(batch, 'message', message)
      const { agent, message: content } = syntheticMessage
      const answerPosition = { message, thread, agent, channel: content.received_via, task: undefined, now }
      yield* partialAnswers.storeAnswer(
        batch,
        partialAnswer && nameThread(partialAnswer, position),
        answer,
        answerPosition,
      )
    },
    *tell(batch, { syntheticMessage, deliveryPlan }, _, { correlationId, now }) {
      const { message, thread } = yield* admitSyntheticMessage(
        batch,
        draftMessage(syntheticMessage, correlationId),
        now,
      )
      const { agent, message: content } = syntheticMessage
      const cause = { message, thread, response: undefined, agent, channel: content.received_via, now }
      yield* partialAnswers.queueDeliveries(batch, deliveryPlan, cause)
    },
  }
}

/** Creates the writers of the actions that change an answer. An action on a retracted answer does nothing. */
function createAnswerChangeWriters({
  partialAnswers,
  responses,
}: Pick<ActionWriterDeps, 'partialAnswers' | 'responses'>): Pick<ActionWriters, 'edit' | 'delete'> {
  function* findUnretracted(id: string) {
    const position = yield* responses.findPosition(id)
    return position?.retracted_at === null ? position : undefined
  }

  return {
    *edit(batch, { response, blobs = [], deliveryPlan }, _, { now }) {
      const position = yield* findUnretracted(response.id)
      if (!position) return
      yield* partialAnswers.reword(batch, position, { response, blobs }, now)
      yield* partialAnswers.queueDeliveries(batch, deliveryPlan, toDeliveryCause(position, now))
    },
    *delete(batch, { response, deliveryPlan }, _, { now }) {
      const position = yield* findUnretracted(response)
      if (!position) return
      yield* partialAnswers.retract(batch, position, now)
      yield* partialAnswers.queueDeliveries(batch, deliveryPlan, toDeliveryCause(position, now))
    },
  }
}

/** Prepares the insertion of the message to which the content of an action belongs. No peer has sent this message, and it counts as answered. */
function createSyntheticAdmission(db: Sql, { threads, turns }: Pick<ActionWriterDeps, 'threads' | 'turns'>) {
  const insertMessage = createMessageInserter(db)
  return function* (batch: Batch, draft: MessageDraft, now: number): Operation<AssignedThread & { message: number }> {
    const { intake } = draft
    const position = yield* threads.assignThread(intake, yield* threads.find(intake))
    const { thread } = position
    const message = yield* insertMessage(draft, { thread, task: undefined, scope: 'kept', at: now })
    threads.addNames(position, nameScopeOf(intake), { message, id: intake.message.id, aliases: [] })
    turns.addAnswered(batch, { message, agent: intake.agent, thread, task: undefined, now })
    return { message, ...position }
  }
}

/** Adds the id of the new thread to the response of a post that begins a thread. */
function nameThread(draft: PartialAnswerDraft, { newThread }: AssignedThread): PartialAnswerDraft {
  const { response } = draft.answer
  if (!newThread || !response) return draft
  return { ...draft, response: setThreadId(draft.response, response, publicIdOf(newThread)) }
}

function toDeliveryCause({ seq, message, thread_id, agent, channel }: ResponsePosition, now: number): DeliveryCause {
  return { message, response: seq, thread: thread_id, agent, channel, now }
}
