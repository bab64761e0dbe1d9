// Counts the hops of a message that agents pass on to each other, up to a limit (MN-8.3).

import { Rejection } from '../../format/errors.ts'
import type { AgentChain } from '../message.ts'

/** The maximum length of a chain of agents, unless the operator sets another one. */
export const defaultMaxHops = 5

/**
 * Limits the chain that a peer claims to our own ceiling, and computes its `is_final` anew.
 * @throws Rejection `forbidden` if the chain is already too long
 */
export function clampAgentChain({ hop, max_hops }: Omit<AgentChain, 'is_final'>, ceiling: number): AgentChain {
  const max = Math.min(max_hops, ceiling)
  if (hop > max) throw new Rejection('forbidden', `Cannot take message: agent chain is longer than ${max} hops`)
  return { hop, max_hops: max, is_final: hop === max }
}

/**
 * Returns the chain with one more call. The first call of a chain is hop 1, and no message can raise the ceiling of this
 * gateway.
 * @throws Rejection `forbidden` on the final hop
 */
export function nextHop(chain: AgentChain | undefined, ceiling: number): AgentChain {
  const max = Math.min(chain?.max_hops ?? ceiling, ceiling)
  const hop = (chain?.hop ?? 0) + 1
  if (hop > max) throw new Rejection('forbidden', `Cannot call agent: agent chain is longer than ${max} hops`)
  return { hop, max_hops: max, is_final: hop === max }
}

/** Returns true on the final hop, on which an agent concludes and calls no other agent (MN-8.3). */
export function isFinalHop(chain: AgentChain | undefined): chain is AgentChain {
  return chain !== undefined && (chain.is_final || chain.hop >= chain.max_hops)
}

/**
 * Checks that an agent may still call another one, before anything is sent and regardless of the channel.
 * @throws Rejection `forbidden`
 */
export function checkChainGoesOn(chain: AgentChain | undefined): void {
  if (isFinalHop(chain)) nextHop(chain, chain.max_hops)
}

/** Renders the facts about the message's chain for a model: its position, and the point at which it must conclude. */
export function renderAgentChain(chain: AgentChain): string {
  const { hop, max_hops } = chain
  const hopNote = `Agents are passing this on to each other. You are hop ${hop} of at most ${max_hops}.`
  if (isFinalHop(chain)) {
    return `${hopNote} You are the last: conclude with what there is, and call, mention or invite no other agent.`
  }
  const remainingHops = max_hops - hop
  return `${hopNote} ${remainingHops} more ${remainingHops === 1 ? 'is' : 'are'} possible after you; bring in another agent only where it is needed.`
}
