import { findTurnPerson } from '../../people/person-turn.ts'
import type { RunningAgent, TurnContext } from '../../ports/agent/turn-context.ts'
import type { Turn } from '../../ports/records/work.ts'
import type { EntryChange, GivenMessage } from '../../ports/trace/trace.ts'
import type { Given } from '../call-agent.ts'
import { digestGiven, toGiven, viewPast } from '../call-agent.ts'

/** A message as an agent was given it, built again. */
interface RebuiltGiven {
  readonly message: Given
  /** It is what the agent was given, to the last letter. */
  readonly isExact: boolean
  /** What was changed or taken back since. */
  readonly changes: readonly EntryChange[]
}

/**
 * Builds again what an agent was given for a turn, by what is stored now. Where that is no longer the same, `changes` tells why; without
 * changes the agent's configuration is another one, or the person has linked or unlinked an address.
 */
export async function rebuildGiven(
  turn: Turn,
  given: GivenMessage,
  { turnContext, running }: { readonly turnContext: TurnContext; readonly running: RunningAgent },
): Promise<RebuiltGiven> {
  const known = await findTurnPerson(turn, turnContext, running)
  const past = await viewPast(turn, turnContext, running, { known, only: new Set(given.history) })
  const message = toGiven(turn.content, turn.content.parts, past)
  const seqs = [...given.history, ...(turn.merged ?? []), turn.message]
  return {
    message,
    isExact: digestGiven(message) === given.digest,
    changes: await turnContext.store.listChanges(seqs),
  }
}
