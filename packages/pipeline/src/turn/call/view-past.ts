// Reads the history that an agent gets with its message.

import type { Turn } from '../../ports/records/work/turn.ts'
import type { RunningAgent } from '../../ports/turn/running-agent.ts'
import type { TurnContext } from '../../ports/turn/turn-context.ts'
import type { Past, PastScope } from '../trace/past-view.ts'
import { viewEarlier } from '../trace/past-view.ts'

/** Reads the history for the agent. A new conversation needs no query. `includedSeqs` limits the history to these entries. */
export function viewPast(
  turn: Turn,
  turnContext: TurnContext,
  { history }: Pick<RunningAgent, 'history'>,
  { turnPerson, includedSeqs }: PastScope,
): Past | Promise<Past> {
  if (turn.isFirst && !turnPerson) return { view: { turns: [] }, entries: [] }
  return viewEarlier(turn, turnContext, { history }, { turnPerson, includedSeqs })
}
