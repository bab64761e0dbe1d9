import { TurnAborted, Undeliverable } from '../../format/errors.ts'
import { checkChainGoesOn } from '../../message/address/chain.ts'
import type { Part } from '../../message/part.ts'
import type { PartialResponse } from '../../message/response.ts'
import type { AgentContext } from '../../ports/agent/agent.ts'
import type { TurnContext } from '../../ports/agent/turn-context.ts'
import type { Turn } from '../../ports/records/work.ts'
import { withoutRequirements } from '../../requirements/settle-requirements.ts'
import { noteCall } from '../notes/call-notes.ts'
import type { TurnNotes } from '../notes/turn-notes.ts'
import { nameLocalAgents } from './inline-mentions.ts'
import { askLocalAgents, defaultMentionFanoutLimits, needsMentionFanout } from './mention-fanout.ts'

type CallDeps = Pick<TurnContext, 'callAgent' | 'presentParts' | 'waiting' | 'traceparentOf'>

/**
 * The way from a turn to other agents, one hop further: the chain goes on from the message, whatever the agent says. Each call is noted before
 * it goes out, and what comes of it. `nameCall`: the same for the same call of a turn that is tried again.
 * @throws Rejection `forbidden` on the final hop; as `CallAgent`
 */
export function createTurnCall(
  turn: Turn,
  { callAgent, presentParts, waiting, traceparentOf }: CallDeps,
  { signal, nameCall, notes }: TurnCallDeps,
): AgentContext['call'] {
  return async (address, content, { broadcast: isBroadcast, agentKey, ...options } = {}) => {
    // Of other words it is another call.
    const revision = turn.revision ? ` revision ${turn.revision}` : ''
    const place = nameCall(address)
    const retryKey = `${turn.correlationId} ${turn.agent}${revision} ${place}`
    if (!callAgent) throw new Undeliverable('Cannot call agent: there is no way to agents elsewhere')
    const parts = typeof content === 'string' ? [{ kind: 'text', mime: 'text/markdown', content } as const] : content
    const chain = turn.content.recipient_capabilities.agent_chain
    checkChainGoesOn(chain)
    const asked = withoutRequirements(parts)
    const traced = traceparentOf && { traceparent: traceparentOf(turn) }
    const call = () =>
      callAgent(address, presentParts(asked), { ...options, ...traced, as: turn.agent, chain, signal, retryKey })
    const end = await notes.beginCall(noteCall(`${place}${revision}`, address, asked, { isBroadcast, agentKey }))
    try {
      const answer = await (waiting ? waiting.during(turn, call) : call())
      end.answered(answer)
      return answer
    } catch (error) {
      // What is broken off is taken up again, or nobody's any more.
      if (!(signal.reason instanceof TurnAborted)) end.failed(error)
      throw error
    }
  }
}

export interface TurnCallDeps {
  readonly signal: AbortSignal
  readonly notes: TurnNotes
  nameCall(address: string): string
}

export interface MentionFanoutDeps {
  readonly turnContext: TurnContext
  readonly notes: TurnNotes
  readonly signals: readonly AbortSignal[]
}

/** What the siblings say that an answer mentions, where this gateway has to ask them; their names, where these wake them; nothing elsewhere. */
export async function joinLocalAgents(
  turn: Turn,
  said: PartialResponse,
  { turnContext, notes, signals }: MentionFanoutDeps,
): Promise<readonly Part[]> {
  const { callAgent, fanout: limits = defaultMentionFanoutLimits, platform } = turnContext
  if (!callAgent || !needsMentionFanout(turn.content, said))
    return nameLocalAgents(turn.content, said, limits.maxMentions)
  return askLocalAgents(turn.content, said, {
    ask: (address, parts, signal) =>
      createTurnCall(turn, turnContext, { signal, notes, nameCall: localAgent => `joint ${localAgent}` })(
        address,
        parts,
      ),
    limits,
    // Only here: a signal made of others is held by them.
    signal: AbortSignal.any([...signals]),
    platform,
  })
}
