import type { PartialResponse } from '../message/response.ts'
import type { TurnSpeaker } from '../people/person-turn.ts'
import type { HistoryMoment, HistoryPolicy } from '../ports/agent/history-policy.ts'
import { noteTextOf } from '../ports/records/note.ts'
import type { Turn } from '../ports/records/work.ts'
import { beginningOf } from '../ports/records/work.ts'
import type { Store } from '../ports/store.ts'
import type { TurnNotes } from './notes/turn-notes.ts'

/** What a view of the past depends on beside what was said. */
export async function readMoment(
  turn: Turn,
  { noteReach: limit = 0 }: HistoryPolicy,
  store: Pick<Store, 'readNotes'>,
  { speakers, isStranger }: TurnSpeaker,
): Promise<HistoryMoment> {
  const { thread } = turn
  const isTold = limit > 0 && !isStranger
  const notes = isTold ? await store.readNotes({ thread, before: beginningOf(turn), limit, speakers }) : []
  return momentOf(turn, notes)
}

export function momentOf({ agent, content }: Turn, notes: HistoryMoment['notes']): HistoryMoment {
  const { phase_id, previous_phase_id } = content
  return { agent, phase_id, previous_phase_id, notes }
}

/** A manager's answer in a phase is its synthesis, unless the manager has noted one itself. */
export function noteSynthesis(
  { agent, content: { phase_id } }: Turn,
  said: PartialResponse | undefined,
  { synthesizes }: HistoryPolicy,
  notes: TurnNotes,
): void {
  const content = noteTextOf(said?.parts ?? [])
  const isDone = (said?.status ?? 'completed') === 'completed' && content !== ''
  if (!synthesizes || phase_id === undefined || !isDone || notes.has('synthesis')) return
  notes.note({ type: 'synthesis', content, from_manager: agent, phase_id })
}
