// Builds the input of an earlier turn again, and lists the changes since then.
import type { EntryChange, GivenMessage } from '@postern/message'
import { findTurnPerson } from '../../people/person-turn.ts'
import type { Turn } from '../../ports/records/work/turn.ts'
import type { RunningAgent } from '../../ports/turn/running-agent.ts'
import type { TurnContext } from '../../ports/turn/turn-context.ts'
import { viewPast } from '../call/view-past.ts'
import type { Given } from './given-message.ts'
import { digestGiven, toGiven } from './given-message.ts'

/** A message as an agent was given it, built again. */
interface RebuiltGiven {
  readonly message: Given
  /** It is what the agent was given, to the last letter. */
  readonly isExact: boolean
  /** The changes and withdrawals since then. */
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
  const turnPerson = await findTurnPerson(turn, turnContext, running)
  const past = await viewPast(turn, turnContext, running, { turnPerson, only: new Set(given.history) })
  const message = toGiven(turn.content, turn.content.parts, past)
  const seqs = [...given.history, ...(turn.merged ?? []), turn.message]
  return {
    message,
    isExact: digestGiven(message) === given.digest,
    changes: await turnContext.store.listChanges(seqs),
  }
}
