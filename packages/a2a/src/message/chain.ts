import type { AgentChain } from '@postern/core'
import { clampAgentChain, isJsonObject } from '@postern/core'
import { A2aRejection } from '../format/errors.ts'
import type { WireMessage } from '../format/wire.ts'

/**
 * The chain that a peer claims, limited by our own maximum; `is_final` is computed again. @throws A2aRejection `invalidParams` when it is
 * malformed; Rejection `forbidden` when it is too long
 */
export function clampChain({ metadata }: WireMessage, ceiling: number): AgentChain | undefined {
  const claimed = isJsonObject(metadata?.mentionable) ? metadata.mentionable.agent_chain : undefined
  if (claimed === undefined || claimed === null) return undefined
  const { hop, max_hops } = isJsonObject(claimed) ? claimed : {}
  if (!isCount(hop) || !isCount(max_hops)) {
    const field = 'message.metadata.mentionable.agent_chain'
    const description = 'needs hop and max_hops, both positive integers'
    const violations = [{ field, description }]
    throw new A2aRejection('invalidParams', `Cannot SendMessage: ${field} ${description}`, { violations })
  }
  return clampAgentChain({ hop, max_hops }, ceiling)
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) > 0
}
