// Limits the calls to other agents that one message causes, across all agents that it reaches inside this gateway.
import { Rejection } from '@postern/message'
import type { CallBudget, CallingTurn } from '../../ports/turn/call-budget.ts'

/** The most calls that one message may cause, by default. */
export const defaultCallsPerMessage = 100

/** The most messages whose calls are counted. Beyond it, the count of the oldest message is dropped and begins again at zero. */
const maxMessages = 10_000

interface CountedCalls {
  readonly most: number
  /** The calls of each turn, by the number of its message. */
  readonly turns: Map<number, { readonly token: number; calls: number }>
}

/**
 * Counts calls in memory, because a call never outlives the process that waits for it. A retried turn repeats its calls, so only the calls of its
 * last attempt count. Each hop that a message has already made between agents halves its limit.
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
    consume(turn) {
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
