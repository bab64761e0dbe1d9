import type { TurnPerson, TurnSpeaker } from '../../people/person-turn.ts'
import { findSpeaker, readPast } from '../../people/person-turn.ts'
import type { HistoryMoment, HistoryPolicy, HistoryView } from '../../ports/agent/history-policy.ts'
import type { RunningAgent, TurnContext } from '../../ports/agent/turn-context.ts'
import type { Turn } from '../../ports/records/work.ts'
import { beginningOf } from '../../ports/records/work.ts'
import type { Store } from '../../ports/store.ts'

/** The view of a conversation that has a past. */
export async function viewEarlier(
  turn: Turn,
  turnContext: TurnContext,
  { history }: Pick<RunningAgent, 'history'>,
  { known, only }: PastScope,
): Promise<Past> {
  const { store } = turnContext
  const speaker = await findSpeaker(turn, turnContext, known)
  const moment = await readMoment(turn, history, store, speaker)
  const read = await readPast(turn, history, store, speaker)
  const entries = only ? read.filter(({ seq }) => only.has(seq)) : read
  return { view: history.view(entries, moment), entries: entries.map(({ seq }) => seq) }
}

/** What a view of the past depends on beside what was said. */
async function readMoment(
  turn: Turn,
  { noteReach: limit = 0 }: HistoryPolicy,
  store: Pick<Store, 'readNotes'>,
  { speakers, isStranger }: TurnSpeaker,
): Promise<HistoryMoment> {
  const { agent, thread, content } = turn
  const isTold = limit > 0 && !isStranger
  const notes = isTold ? await store.readNotes({ thread, before: beginningOf(turn), limit, speakers }) : []
  return { agent, phase_id: content.phase_id, previous_phase_id: content.previous_phase_id, notes }
}

export interface Past {
  readonly view: HistoryView
  /** Seqs of what the view was made of. */
  readonly entries: readonly number[]
}

export interface PastScope {
  readonly known: TurnPerson | undefined
  readonly only?: ReadonlySet<number> | undefined
}
