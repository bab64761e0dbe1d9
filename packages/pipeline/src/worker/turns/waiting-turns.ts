// Limits the turns that wait for calls to other agents, so that chains of calls cannot block each other.
import { Unavailable } from '@postern/message'
import type { Turn } from '../../ports/records/work/turn.ts'
import type { WaitingTurns } from '../../ports/turn/turn-context.ts'
import { addToCount } from '../add-to-count.ts'

/** The seconds after which a refused call should be retried. */
const retryAfterSeconds = 5

/**
 * Limits the concurrent calls to `maxCalls`. The first hop of chains may use half of them, and each further hop half of the remaining ones, so that new
 * chains never block running chains. One agent may use half of its hop's calls. One sender may use a quarter of all calls, whatever hop they claim.
 */
export function createWaitingTurns(
  maxCalls: number,
  /** Reports that a turn begins or ends waiting. */
  onChange: (turn: Turn, isWaiting: boolean) => void,
): WaitingTurns {
  const waitingCalls = new Map<Turn, number>()
  const callsByAgent = new Map<string, number>()
  const callsBySender = new Map<string, number>()
  let total = 0

  function reserveCall(turn: Turn): void {
    const hop = (turn.content.recipient_capabilities.agent_chain?.hop ?? 0) + 1
    const maxOfHop = maxCalls * (1 - 2 ** -hop)
    const usedCalls = { agent: callsByAgent.get(turn.agent) ?? 0, sender: callsBySender.get(senderOf(turn)) ?? 0 }
    if (total >= maxOfHop || usedCalls.agent >= maxOfHop / 2 || usedCalls.sender >= maxCalls / 4) {
      throw new Unavailable('Cannot call agent: too many calls are under way', { retryAfter: retryAfterSeconds })
    }
    changeCounts(turn, 1)
  }

  function changeCounts(turn: Turn, change: 1 | -1): void {
    total += change
    addToCount(waitingCalls, turn, change)
    addToCount(callsByAgent, turn.agent, change)
    addToCount(callsBySender, senderOf(turn), change)
  }

  return {
    async trackCall(turn, call) {
      const isFirst = !waitingCalls.has(turn)
      reserveCall(turn)
      if (isFirst) onChange(turn, true)
      try {
        return await call()
      } finally {
        changeCounts(turn, -1)
        if (!waitingCalls.has(turn)) onChange(turn, false)
      }
    },
  }
}

function senderOf({ content }: Turn): string {
  return content.sender.address
}
