// Bounds the calls to other agents that one message causes, over all agents that it reaches inside this gateway.
import { Rejection } from '@postern/message'
import type { CallBudget, CallingTurn } from '../../ports/turn/call-budget.ts'

/** Calls that one message may cause. */
export const defaultCallsPerMessage = 100

/** Messages whose calls are counted; of more the oldest begin anew. */
const maxMessages = 10_000

interface CountedCalls {
  readonly most: number
  /** By the number of the message whose turn calls. */
  readonly turns: Map<number, { readonly token: number; calls: number }>
}

/**
 * Counts calls in memory: a call lives no longer than the process that waits for it. A turn that is tried again makes its calls again, so only those
 * of its last attempt count. A message of another agent has half as many calls with each hop that it has behind it.
 */
export function createCallBudget(callsPerMessage = defaultCallsPerMessage): CallBudget {
  const messages = new Map<number, CountedCalls>()

  function findCounted(first: number, { content }: CallingTurn): CountedCalls {
    const countedCalls = messages.get(first)
    if (countedCalls) return countedCalls
    const hop = content.recipient_capabilities.agent_chain?.hop ?? 0
    const counted = { most: Math.ceil(callsPerMessage / 2 ** hop), turns: new Map() }
    messages.set(first, counted)
    const [oldest] = messages.keys()
    if (messages.size > maxMessages && oldest !== undefined) messages.delete(oldest)
    return counted
  }

  return {
    take(turn) {
      const { message, token, content } = turn
      const first = content.called_by?.first_message ?? content.called_by?.message ?? message
      const { most, turns } = findCounted(first, turn)
      const last = turns.get(message)
      const own = last?.token === token ? last : { token, calls: 0 }
      turns.set(message, own)
      const made = [...turns.values()].reduce((sum, { calls }) => sum + calls, 0)
      if (made >= most) {
        const reason = `message #${first} has caused ${most} calls, the most that limits.loop.calls_per_message allows`
        throw new Rejection('forbidden', `Cannot call agent: ${reason}`)
      }
      own.calls += 1
    },
  }
}
