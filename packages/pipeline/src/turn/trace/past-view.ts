// Reads the history of a conversation for its agent.
import type { TurnPerson, TurnSpeaker } from '../../people/person-turn.ts'
import { findSpeaker, readPast } from '../../people/person-turn.ts'
import type { HistoryMoment, HistoryPolicy, HistoryView } from '../../ports/agent/history-policy.ts'
import type { Turn } from '../../ports/records/work/turn.ts'
import { beginningOf } from '../../ports/records/work/turn.ts'
import type { Store } from '../../ports/store/store.ts'
import type { RunningAgent } from '../../ports/turn/running-agent.ts'
import type { TurnContext } from '../../ports/turn/turn-context.ts'

/** Reads the history of a conversation that has earlier entries. */
export async function viewEarlier(
  turn: Turn,
  turnContext: TurnContext,
  { history }: Pick<RunningAgent, 'history'>,
  { turnPerson, includedSeqs }: PastScope,
): Promise<Past> {
  const { store } = turnContext
  const speaker = await findSpeaker(turn, turnContext, turnPerson)
  const context = await readHistoryContext(turn, history, store, speaker)
  const pastEntries = await readPast(turn, history, store, speaker)
  const entries = includedSeqs ? pastEntries.filter(({ seq }) => includedSeqs.has(seq)) : pastEntries
  return { view: history.view(entries, context), entries: entries.map(({ seq }) => seq) }
}

/** Reads the data other than entries on which the history view depends. */
async function readHistoryContext(
  turn: Turn,
  { noteReach: limit = 0 }: HistoryPolicy,
  store: Pick<Store, 'readNotes'>,
  { speakers, isUnlinked }: TurnSpeaker,
): Promise<HistoryMoment> {
  const { agent, thread, content } = turn
  const readsNotes = limit > 0 && !isUnlinked
  const notes = readsNotes ? await store.readNotes({ thread, beforeMessage: beginningOf(turn), limit, speakers }) : []
  return { agent, phase_id: content.phase_id, previous_phase_id: content.previous_phase_id, notes }
}

/** The history that an agent gets. */
export interface Past {
  readonly view: HistoryView
  /** The `seq` of each entry from which the view was made. */
  readonly entries: readonly number[]
}

export interface PastScope {
  readonly turnPerson: TurnPerson | undefined
  readonly includedSeqs?: ReadonlySet<number> | undefined
}
