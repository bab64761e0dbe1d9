// Records the stages of a turn that its agent names.
import { isStageName, Rejection } from '@postern/message'
import { formatTurnId } from '../../ports/records/note.ts'
import type { Turn } from '../../ports/records/work/turn.ts'
import type { NotesDeps, TurnNoteWriter } from './note-writer.ts'
import { notifyWatchers } from './note-writer.ts'

interface StageDeps {
  readonly writer: TurnNoteWriter
  /** Returns the number of the next note of the turn. @throws Rejection too_large */
  nextNumber(): number
}

/** Creates the record of a turn's stages, which its agent names one after another. Each stage is stored when it ends, with its duration. */
export function createTurnStages(turn: Turn, { system, store }: NotesDeps, { writer, nextNumber }: StageDeps) {
  let openStage:
    | { readonly stage: string; readonly answer: string; readonly number: number; readonly startedAt: number }
    | undefined
  const formatNoteId = (number: number) => `${formatTurnId(turn.message)}.note ${number}`

  function end(): void {
    if (!openStage) return
    const { stage, answer, number, startedAt } = openStage
    openStage = undefined
    writer.addFormatted(`note ${number}`, formatNoteId(number), {
      kind: 'activity',
      role: 'system',
      scope: 'agent',
      agent_key: turn.agent,
      content: { value: { stage } },
      turn_id: formatTurnId(turn.message),
      stage,
      latency_ms: Math.max(0, Math.round(system.now() - startedAt)),
      metadata: { message_id: answer },
    })
  }

  return {
    /** Begins a stage and ends the previous one. `answer` is the id of the resulting answer. @throws Rejection malformed, too_large */
    begin(stage: string, answer: string) {
      if (!isStageName(stage)) {
        throw new Rejection(
          'malformed',
          'Cannot begin stage: its name is no text of 1 to 64 letters, digits and "_-. "',
        )
      }
      end()
      openStage = { stage, answer, number: nextNumber(), startedAt: system.now() }
      notifyWatchers(turn, store, { kind: 'stage', id: formatNoteId(openStage.number), stage })
    },
    end,
  }
}
