import { Rejection } from '../../format/errors.ts'
import { isStageName } from '../../message/stage-name.ts'
import type { NoteBody, StageNotice } from '../../ports/records/note.ts'
import { formatTurnId } from '../../ports/records/note.ts'
import type { Turn } from '../../ports/records/work.ts'

/** The stages of a turn, one after the other, as its agent names them. */
interface TurnStages {
  /** Ends the one before it. `answer`: id of the answer it leads to. @throws Rejection malformed, too_large */
  begin(stage: string, answer: string): void
  end(): void
}

interface StageDeps {
  readonly now: () => number
  /** A place among the turn's notes. @throws Rejection too_large */
  take(): number
  tell(notice: StageNotice): void
  keep(place: number, id: string, body: NoteBody): void
}

/** Kept when it is over, with the time it took. */
export function createTurnStages(turn: Turn, { now, take, tell, keep }: StageDeps): TurnStages {
  let open:
    | { readonly stage: string; readonly answer: string; readonly place: number; readonly from: number }
    | undefined
  const idOf = (place: number) => `${formatTurnId(turn.message)}.note ${place}`

  function end(): void {
    if (!open) return
    const { stage, answer, place, from } = open
    open = undefined
    keep(place, idOf(place), {
      kind: 'activity',
      role: 'system',
      scope: 'agent',
      agent_key: turn.agent,
      content: { value: { stage } },
      turn_id: formatTurnId(turn.message),
      stage,
      latency_ms: Math.max(0, Math.round(now() - from)),
      metadata: { message_id: answer },
    })
  }

  return {
    begin(stage, answer) {
      if (!isStageName(stage)) {
        throw new Rejection(
          'malformed',
          'Cannot begin stage: its name is no text of 1 to 64 letters, digits and "_-. "',
        )
      }
      end()
      open = { stage, answer, place: take(), from: now() }
      tell({ kind: 'stage', id: idOf(open.place), stage })
    },
    end,
  }
}
