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

interface OpenStage {
  readonly stage: string
  /** The id of the resulting answer. */
  readonly answerId: string
  readonly noteNumber: number
  readonly startedAt: number
}

/** Creates the record of a turn's stages, which its agent names one after another. Each stage is stored when it ends, with its duration. */
export function createTurnStages(turn: Turn, { system, store }: NotesDeps, { writer, nextNumber }: StageDeps) {
  let openStage: OpenStage | undefined
  const formatNoteId = (number: number) => `${formatTurnId(turn.message)}.note ${number}`

  function end(): void {
    if (!openStage) return
    const { stage, answerId, noteNumber, startedAt } = openStage
    openStage = undefined
    writer.addFormatted(`note ${noteNumber}`, formatNoteId(noteNumber), {
      kind: 'activity',
      role: 'system',
      scope: 'agent',
      agent_key: turn.agent,
      content: { value: { stage } },
      turn_id: formatTurnId(turn.message),
      stage,
      latency_ms: Math.max(0, Math.round(system.now() - startedAt)),
      metadata: { message_id: answerId },
    })
  }

  return {
    /** Begins a stage and ends the previous one. `answerId` is the id of the resulting answer. @throws Rejection malformed, too_large */
    begin(stage: string, answerId: string) {
      if (!isStageName(stage)) {
        throw new Rejection('malformed', 'Cannot begin stage: its name must be 1 to 64 letters, digits and "_-. "')
      }
      end()
      openStage = { stage, answerId, noteNumber: nextNumber(), startedAt: system.now() }
      notifyWatchers(turn, store, { kind: 'stage', id: formatNoteId(openStage.noteNumber), stage })
    },
    end,
  }
}
