// Passes the calling turn from one agent of this gateway to another.
import type { NormalizedMessage } from '@postern/message'
import { isJsonObject } from '@postern/message'
import type { AgentCallOptions, ChannelContext } from '@postern/pipeline'
import type { Call } from '../endpoint/call.ts'
import type { Mentionable } from './mentionable.ts'

/** The member in which a message names the turn that calls. */
export type CallingTurnMember = Pick<NormalizedMessage, 'called_by'>

/** Renders the member for a call to `card`. Only agents of this gateway get the member, because a message number has no meaning elsewhere. */
export function renderCalledBy(
  { callingTurn: calledBy }: Pick<AgentCallOptions, 'callingTurn'>,
  { card, origin }: { readonly card: string; readonly origin: string },
): object {
  if (!calledBy || URL.parse(card)?.origin !== origin) return {}
  const { message, isOnBehalf } = calledBy
  return { called_by: { message, ...(isOnBehalf && { on_behalf: true }) } }
}

/**
 * Reads the calling turn from the store by its number, if the caller has our own token, which only an agent of this gateway has. The claim of any
 * other caller is ignored. The sender of that turn is not copied, so that forgetting them leaves no copy.
 */
export async function readCalledBy(
  mentionable: Mentionable,
  { caller }: Pick<Call, 'caller'>,
  { store, agents }: Pick<ChannelContext, 'store' | 'agents'>,
): Promise<CallingTurnMember> {
  const { called_by: claimedTurn } = mentionable as { readonly called_by?: unknown }
  if (!isJsonObject(claimedTurn) || !Number.isSafeInteger(claimedTurn.message) || caller.issuer !== agents.origin)
    return {}
  const turn = await store.readTurn(Number(claimedTurn.message))
  if (!turn || turn.agent !== caller.subject) return {}
  const { message, agent, correlationId: correlation_id, content } = turn
  const first_message = content.called_by?.first_message ?? content.called_by?.message
  const isOnBehalf = claimedTurn.on_behalf === true
  return {
    called_by: {
      ...{ agent, message, correlation_id },
      ...(first_message !== undefined && { first_message }),
      ...(isOnBehalf && { on_behalf: true }),
    },
  }
}
