import type { AgentChain } from '@postern/core'
import { Rejection } from '@postern/core'

/**
 * The chain one call further (`contract.md`, chains): the first call of a chain is hop 1, and nobody's ceiling but ours can be
 * raised by what arrived.
 * @throws Rejection `forbidden` when that is too far
 */
export function nextHop(chain: AgentChain | undefined, ceiling: number): AgentChain {
  const max = Math.min(chain?.max_hops ?? ceiling, ceiling)
  const hop = (chain?.hop ?? 0) + 1
  if (hop > max) throw new Rejection('forbidden', `Cannot call agent: agent chain is longer than ${max} hops`)
  return { hop, max_hops: max, is_final: hop === max }
}
