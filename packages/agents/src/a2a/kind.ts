import type { Agent, AgentCallAnswer, AgentCallOptions } from '@postern/core'
import { parseIfAddress } from '@postern/core'
import { z } from 'zod'
import { commonAgentSchema, defineAgentKind } from '../kind/agent-kind.ts'

export const a2aAgentSchema = commonAgentSchema
  .extend({
    /** Address of its A2A card; either this or `address`. */
    card: z.url({ protocol: /^https?$/ }).optional(),
    /** Its address, `@name@domain`; either this or `card`. */
    address: z.string().refine(isAddress, 'must be an address such as "@name@agents.example"').optional(),
  })
  .refine(({ card, address }) => (card === undefined) !== (address === undefined), 'needs either "card" or "address"')

export function isAddress(text: string): boolean {
  return parseIfAddress(text) !== undefined
}

/** A remote A2A agent that answers here under one of our names. */
export const a2aKind = defineAgentKind({
  usage: '"a2a" (with card or address)',
  uses: /^a2a$/,
  schema: a2aAgentSchema,
  open: async ({ card, address }) => ({ agent: createA2aAgent(card ?? address ?? '') }),
})

type Continuation = Pick<AgentCallOptions, 'contextId' | 'taskId'>

/** One thread here is one context there. A question of the remote agent is answered in its own task. */
function createA2aAgent(target: string): Agent {
  return {
    async handle({ parts, phase_id: phaseId, previous_phase_id: previousPhaseId }, { call, state }) {
      const before = ((await state.get()) ?? {}) as Continuation
      const answer = await call(target, parts, { ...before, phaseId, previousPhaseId })
      state.set(continueFrom(answer))
      if (answer.status === 'completed' && answer.parts.length === 0) return undefined
      return { parts: [...answer.parts], status: answer.status }
    },
  }
}

function continueFrom({ contextId, taskId, status }: AgentCallAnswer): { readonly [name: string]: string } {
  return {
    ...(contextId !== undefined && { contextId }),
    ...(taskId !== undefined && (status === 'input_required' || status === 'auth_required') && { taskId }),
  }
}
