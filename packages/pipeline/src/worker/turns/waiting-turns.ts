// Limits the turns that wait for calls to other agents, so that chains of calls cannot block each other.
import { Unavailable } from '@postern/message'
import type { Turn } from '../../ports/records/work/turn.ts'
import type { WaitingTurns } from '../../ports/turn/turn-context.ts'
import { addTo } from '../work-pool.ts'

/** The seconds after which a refused call should be retried. */
const retryAfter = 5

/**
 * Limits the concurrent calls to `most`. The first hop of chains gets half of them, each further hop half of the rest, so that new chains never block
 * running ones. One agent gets half of its hop's share. One sender gets a quarter of all, regardless of the hop that they claim.
 */
export function createWaitingTurns(
  most: number,
  /** Reports that a turn begins or ends waiting. */
  onChange: (turn: Turn, isWaiting: boolean) => void,
): WaitingTurns {
  const waiting = new Map<Turn, number>()
  const ofAgent = new Map<string, number>()
  const ofSender = new Map<string, number>()
  let total = 0

  function take(turn: Turn): void {
    const hop = (turn.content.recipient_capabilities.agent_chain?.hop ?? 0) + 1
    const share = most * (1 - 2 ** -hop)
    const taken = { agent: ofAgent.get(turn.agent) ?? 0, sender: ofSender.get(senderOf(turn)) ?? 0 }
    if (total >= share || taken.agent >= share / 2 || taken.sender >= most / 4) {
      throw new Unavailable('Cannot call agent: too many calls are under way', { retryAfter })
    }
    count(turn, 1)
  }

  function count(turn: Turn, by: 1 | -1): void {
    total += by
    addTo(waiting, turn, by)
    addTo(ofAgent, turn.agent, by)
    addTo(ofSender, senderOf(turn), by)
  }

  return {
    async during(turn, call) {
      const isFirst = !waiting.has(turn)
      take(turn)
      if (isFirst) onChange(turn, true)
      try {
        return await call()
      } finally {
        count(turn, -1)
        if (!waiting.has(turn)) onChange(turn, false)
      }
    },
  }
}

function senderOf({ content }: Turn): string {
  return content.sender.address
}
