import type { PlannedAct } from '@postern/core'
import type { Batch } from './batch.ts'
import type { Database } from './database.ts'
import type { MessageDraft } from './message-draft.ts'
import { draftIntake } from './message-draft.ts'
import { createMessageInserter } from './message-insert.ts'
import type { ResponsePlace } from './responses.ts'
import type { SayingDraft } from './sayings.ts'
import { draftSaying } from './sayings.ts'
import type { Tables } from './tables.ts'
import { nameScopeOf } from './threads.ts'

type Kind = PlannedAct['kind']
type ActOf<K extends Kind> = Extract<PlannedAct, { kind: K }>

/** An act as its columns, made before the transaction. */
export interface ActDraft {
  readonly act: PlannedAct
  /** Of a post. */
  readonly saying: SayingDraft | undefined
}

export function draftAct(act: PlannedAct): ActDraft {
  return { act, saying: act.kind === 'post' ? draftSaying(act.answer, act.answer.response) : undefined }
}

type Write<K extends Kind> = (batch: Batch, act: ActOf<K>, draft: ActDraft, moment: Moment) => void

interface Moment {
  readonly correlationId: string
  readonly now: number
}

/** Makes an act durable, inside a write. What it speaks of may be gone by now: then nothing happens. */
export function createActWriter(
  db: Database,
  tables: Tables,
): (batch: Batch, draft: ActDraft, correlationId: string, now: number) => void {
  const insertMessage = createMessageInserter(db)

  function admitOccasion(batch: Batch, draft: MessageDraft, now: number): { message: number; thread: number } {
    const { intake } = draft
    const thread = tables.threads.place(intake)
    const message = tables.entries.append({ ...draft.entry, scope: 'kept' }, { thread, task: undefined })
    insertMessage(draft, { message, thread, task: undefined })
    tables.threads.addNames(thread, nameScopeOf(intake), { message, id: intake.message.id, aliases: [] })
    tables.turns.noteAnswered(batch, { message, agent: intake.agent, thread, task: undefined, now })
    return { message, thread }
  }

  function findStanding(id: string): ResponsePlace | undefined {
    const place = tables.responses.findPlace(id)
    return place?.retracted_at === null ? place : undefined
  }

  function sendOf({ seq, message, thread_id, agent, via }: ResponsePlace, now: number) {
    return { message, response: seq, thread: thread_id, agent, via, now }
  }

  const writers: { readonly [K in Kind]: Write<K> } = {
    post(batch, { occasion, answer }, { saying }, { correlationId, now }) {
      // An id that is taken stays with whose it is.
      if (tables.responses.findPlace(answer.response.id)) return
      const place = admitOccasion(batch, draftIntake(occasion, correlationId), now)
      const { agent, message } = occasion
      tables.sayings.say(batch, saying, answer, { ...place, agent, via: message.received_via, task: undefined, now })
    },
    tell(batch, { occasion, planned }, _, { correlationId, now }) {
      const { message, thread } = admitOccasion(batch, draftIntake(occasion, correlationId), now)
      const { agent } = occasion
      const { received_via: via } = occasion.message
      tables.sayings.send(batch, planned, { message, thread, response: undefined, agent, via, now })
    },
    edit(batch, { response, blobs = [], planned }, _, { now }) {
      const place = findStanding(response.id)
      if (!place) return
      tables.sayings.reword(batch, place, { response, blobs }, now)
      tables.sayings.send(batch, planned, sendOf(place, now))
    },
    delete(batch, { response, planned }, _, { now }) {
      const place = findStanding(response)
      if (!place) return
      tables.sayings.retract(batch, place, now)
      tables.sayings.send(batch, planned, sendOf(place, now))
    },
    react(batch, { message, planned }, _, { now }) {
      const { agent, via, thread, flags } = tables.readMessage(message)
      if (flags.includes('deleted')) return
      tables.sayings.send(batch, planned, { message, response: undefined, thread, agent, via, now })
    },
  }
  return (batch, draft, correlationId, now) =>
    writers[draft.act.kind](batch, draft.act as never, draft, { correlationId, now })
}
