import type { AgentContext } from './agent.ts'
import { checkChainGoesOn } from './chain.ts'
import { Undeliverable } from './errors.ts'
import { nameSiblings } from './inline-mentions.ts'
import { askSiblings, defaultJointLimits, needsJointAnswer } from './joint.ts'
import type { Part } from './part.ts'
import type { PartialResponse } from './response.ts'
import { withoutDemands } from './settle-demands.ts'
import type { Turn } from './work.ts'
import type { Working } from './working.ts'

type CallParts = Pick<Working, 'callAgent' | 'presentParts' | 'waiting'>

/**
 * The way from a turn to other agents, one hop further: the chain goes on from the message, whatever the agent says. `nameCall`: the
 * same for the same call of a turn that is tried again.
 * @throws Rejection `forbidden` on the final hop; as `CallAgent`
 */
export function createTurnCall(
  turn: Turn,
  { callAgent, presentParts, waiting }: CallParts,
  { signal, nameCall }: { readonly signal: AbortSignal; nameCall(address: string): string },
): AgentContext['call'] {
  return async (address, content, options = {}) => {
    // Of other words it is another call.
    const revision = turn.revision ? ` revision ${turn.revision}` : ''
    const retryKey = `${turn.correlationId} ${turn.agent}${revision} ${nameCall(address)}`
    if (!callAgent) throw new Undeliverable('Cannot call agent: there is no way to agents elsewhere')
    const parts = typeof content === 'string' ? [{ kind: 'text', mime: 'text/markdown', content } as const] : content
    const chain = turn.content.recipient_capabilities.agent_chain
    checkChainGoesOn(chain)
    const call = () =>
      callAgent(address, presentParts(withoutDemands(parts)), { ...options, as: turn.agent, chain, signal, retryKey })
    return waiting ? waiting.during(turn, call) : call()
  }
}

/** What the siblings say that an answer mentions, where this gateway has to ask them; their names, where these wake them; nothing elsewhere. */
export async function joinSiblings(
  turn: Turn,
  said: PartialResponse,
  { working, signals }: { readonly working: Working; readonly signals: readonly AbortSignal[] },
): Promise<readonly Part[]> {
  const { callAgent, joint: limits = defaultJointLimits, world } = working
  if (!callAgent || !needsJointAnswer(turn.content, said)) return nameSiblings(turn.content, said, limits.maxMentions)
  return askSiblings(turn.content, said, {
    ask: (address, parts, signal) =>
      createTurnCall(turn, working, { signal, nameCall: sibling => `joint ${sibling}` })(address, parts),
    limits,
    // Only here: a signal made of others is held by them.
    signal: AbortSignal.any([...signals]),
    world,
  })
}
