// Limits the calls to other agents that one message causes, across all agents that it reaches inside this gateway.
import { Rejection } from '@postern/message'
import type { CallBudget, CallingTurn } from '../../ports/turn/call-budget.ts'

/** The default of the maximum number of calls that one message may cause. */
export const defaultCallsPerMessage = 100

/** The maximum number of messages whose calls are counted. Beyond it, the count of the oldest message is dropped and begins again at zero. */
const maxCountedMessages = 10_000

interface CountedCalls {
  readonly maxCalls: number
  /** The calls of each turn, by the number of its message. */
  readonly turns: Map<number, { readonly token: number; calls: number }>
}

/**
 * Counts calls in memory, because a call never outlives the process that waits for it. A retried turn repeats its calls, so only the calls of its
 * last attempt count. Each hop that a message has already made between agents halves its limit.
 */
export function createCallBudget(callsPerMessage = defaultCallsPerMessage): CallBudget {
  const callsByMessage = new Map<number, CountedCalls>()

  function findOrAddCalls(firstMessage: number, { content }: CallingTurn): CountedCalls {
    const existingCalls = callsByMessage.get(firstMessage)
    if (existingCalls) return existingCalls
    const hop = content.recipient_capabilities.agent_chain?.hop ?? 0
    const newCalls = { maxCalls: Math.ceil(callsPerMessage / 2 ** hop), turns: new Map() }
    callsByMessage.set(firstMessage, newCalls)
    const [oldestMessage] = callsByMessage.keys()
    if (callsByMessage.size > maxCountedMessages && oldestMessage !== undefined) callsByMessage.delete(oldestMessage)
    return newCalls
  }

  return {
    consume(turn) {
      const { message, token, content } = turn
      const firstMessage = content.called_by?.first_message ?? content.called_by?.message ?? message
      const { maxCalls, turns } = findOrAddCalls(firstMessage, turn)
      const lastCalls = turns.get(message)
      const attemptCalls = lastCalls?.token === token ? lastCalls : { token, calls: 0 }
      turns.set(message, attemptCalls)
      const callCount = [...turns.values()].reduce((sum, { calls }) => sum + calls, 0)
      if (callCount >= maxCalls) {
        const reason = `message #${firstMessage} has caused ${maxCalls} calls, the most that limits.loop.calls_per_message allows`
        throw new Rejection('forbidden', `Cannot call agent: ${reason}`)
      }
      attemptCalls.calls += 1
    },
  }
}
