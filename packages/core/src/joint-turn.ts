import type { AgentContext } from './agent.ts'
import { noteCall } from './call-notes.ts'
import { checkChainGoesOn } from './chain.ts'
import { TurnAborted, Undeliverable } from './errors.ts'
import { nameSiblings } from './inline-mentions.ts'
import { askSiblings, defaultJointLimits, needsJointAnswer } from './joint.ts'
import type { Part } from './part.ts'
import type { PartialResponse } from './response.ts'
import { withoutDemands } from './settle-demands.ts'
import type { TurnNotes } from './turn-notes.ts'
import type { Turn } from './work.ts'
import type { Working } from './working.ts'

type CallParts = Pick<Working, 'callAgent' | 'presentParts' | 'waiting'>

/**
 * The way from a turn to other agents, one hop further: the chain goes on from the message, whatever the agent says. Each call is noted before
 * it goes out, and what comes of it. `nameCall`: the same for the same call of a turn that is tried again.
 * @throws Rejection `forbidden` on the final hop; as `CallAgent`
 */
export function createTurnCall(
  turn: Turn,
  { callAgent, presentParts, waiting }: CallParts,
  { signal, nameCall, notes }: TurnCallRoom,
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
    const asked = withoutDemands(parts)
    const call = () => callAgent(address, presentParts(asked), { ...options, as: turn.agent, chain, signal, retryKey })
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

export interface TurnCallRoom {
  readonly signal: AbortSignal
  readonly notes: TurnNotes
  nameCall(address: string): string
}

export interface SiblingRoom {
  readonly working: Working
  readonly notes: TurnNotes
  readonly signals: readonly AbortSignal[]
}

/** What the siblings say that an answer mentions, where this gateway has to ask them; their names, where these wake them; nothing elsewhere. */
export async function joinSiblings(
  turn: Turn,
  said: PartialResponse,
  { working, notes, signals }: SiblingRoom,
): Promise<readonly Part[]> {
  const { callAgent, joint: limits = defaultJointLimits, world } = working
  if (!callAgent || !needsJointAnswer(turn.content, said)) return nameSiblings(turn.content, said, limits.maxMentions)
  return askSiblings(turn.content, said, {
    ask: (address, parts, signal) =>
      createTurnCall(turn, working, { signal, notes, nameCall: sibling => `joint ${sibling}` })(address, parts),
    limits,
    // Only here: a signal made of others is held by them.
    signal: AbortSignal.any([...signals]),
    world,
  })
}
