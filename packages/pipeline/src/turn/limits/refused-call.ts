// Reports to the operator a call to another agent that a limit has stopped.
import type { Rejection } from '@postern/message'
import { isoTime } from '@postern/message'
import type { Turn } from '../../ports/records/work/turn.ts'
import type { TurnContext } from '../../ports/turn/turn-context.ts'
import type { NotedCall } from '../notes/call-notes.ts'
import type { TurnNotes } from '../notes/turn-notes.ts'

const reportedTurns = new WeakSet<Turn>()

/**
 * Notes a stopped call in the turn, and adds it to the list of refusals. Only the first one of an attempt is reported, because an agent that calls
 * in an endless loop must not fill its record.
 */
export async function reportRefusedCall(
  turn: Turn,
  call: NotedCall,
  error: Rejection,
  { store, system, notes }: Pick<TurnContext, 'store' | 'system'> & { readonly notes: TurnNotes },
): Promise<void> {
  if (reportedTurns.has(turn)) return
  reportedTurns.add(turn)
  const { agent, via, content } = turn
  const [from, at] = [content.recipient, isoTime(system.now())]
  const caller = { claimed_sender: from, agent, peer_id: content.id }
  store.refuse({ at, via, from, code: error.code, reason: error.message, endpoint: `call: ${call.worker}`, ...caller })
  const end = await notes.beginCall(call)
  end.recordFailure(error)
}
