import type { PlannedAction } from '@postern/core'
import type { ThreadTable } from '../conversations/threads.ts'
import { nameScopeOf } from '../conversations/threads.ts'
import type { NewDelivery } from '../deliveries/queue.ts'
import type { Batch, Sql } from '../engine/database.ts'
import { noteChange } from '../engine/database.ts'
import type { ResponsePlace, ResponseTable } from '../messages/responses.ts'
import type { MessageDraft, ReadMessage } from '../messages/table.ts'
import { createMessageInserter, draftIntake } from '../messages/table.ts'
import type { TurnTable } from '../turns/table.ts'
import type { ActionDraft, ActionWriting, PartialAnswerTable } from './commit.ts'
import { draftPartialAnswer } from './commit.ts'

type Kind = PlannedAction['kind']
type ActionOf<K extends Kind> = Extract<PlannedAction, { kind: K }>

function draftAction(act: PlannedAction): ActionDraft {
  return { act, partialAnswer: act.kind === 'post' ? draftPartialAnswer(act.answer, act.answer.response) : undefined }
}

type Write<K extends Kind> = (batch: Batch, act: ActionOf<K>, draft: ActionDraft, moment: Moment) => void

interface Moment {
  readonly correlationId: string
  readonly now: number
}

/** What acts are written to. */
export interface ActionWriterDeps {
  readonly threads: ThreadTable
  readonly turns: TurnTable
  readonly responses: ResponseTable
  readonly partialAnswers: PartialAnswerTable
  readonly readMessage: ReadMessage
}

export function createActionWriting(db: Sql, tables: ActionWriterDeps): ActionWriting {
  const admitSyntheticMessage = createSyntheticAdmission(db, tables)
  const findStanding = (id: string) => {
    const place = tables.responses.findPlace(id)
    return place?.retracted_at === null ? place : undefined
  }

  const writers: { readonly [K in Kind]: Write<K> } = {
    post(batch, { synthetic, answer }, { partialAnswer }, { correlationId, now }) {
      // An id that is taken stays with whose it is.
      if (tables.responses.findPlace(answer.response.id)) return
      const place = admitSyntheticMessage(batch, draftIntake(synthetic, correlationId), now)
      noteChange(batch, 'message', place.message)
      const { agent, message } = synthetic
      tables.partialAnswers.say(batch, partialAnswer, answer, {
        ...place,
        agent,
        channel: message.received_via,
        task: undefined,
        now,
      })
    },
    tell(batch, { synthetic, planned }, _, { correlationId, now }) {
      const { message, thread } = admitSyntheticMessage(batch, draftIntake(synthetic, correlationId), now)
      const { agent } = synthetic
      const { received_via: via } = synthetic.message
      tables.partialAnswers.send(batch, planned, { message, thread, response: undefined, agent, channel: via, now })
    },
    edit(batch, { response, blobs = [], planned }, _, { now }) {
      const place = findStanding(response.id)
      if (!place) return
      tables.partialAnswers.reword(batch, place, { response, blobs }, now)
      tables.partialAnswers.send(batch, planned, sendOf(place, now))
    },
    delete(batch, { response, planned }, _, { now }) {
      const place = findStanding(response)
      if (!place) return
      tables.partialAnswers.retract(batch, place, now)
      tables.partialAnswers.send(batch, planned, sendOf(place, now))
    },
    react(batch, { message, planned }, _, { now }) {
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

/** Writes the message that an act answers, which nobody has sent: it has been answered already. */
function createSyntheticAdmission(db: Sql, { threads, turns }: Pick<ActionWriterDeps, 'threads' | 'turns'>) {
  const insertMessage = createMessageInserter(db)
  return (batch: Batch, draft: MessageDraft, now: number): { message: number; thread: number } => {
    const { intake } = draft
    const place = threads.place(intake, threads.find(intake))
    const { thread } = place
    const message = insertMessage(draft, { thread, task: undefined, scope: 'kept', at: now })
    threads.addNames(place, nameScopeOf(intake), { message, id: intake.message.id, aliases: [] })
    turns.noteAnswered(batch, { message, agent: intake.agent, thread, task: undefined, now })
    return { message, thread }
  }
}

function sendOf({ seq, message, thread_id, agent, channel }: ResponsePlace, now: number): NewDelivery {
  return { message, response: seq, thread: thread_id, agent, channel, now }
}
