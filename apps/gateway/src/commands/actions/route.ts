import type { AgentDeps } from '@postern/agents'
import type { PublisherDeps } from '@postern/core'
import { agentActionSchema, makeId, performActions, Rejection } from '@postern/core'
import { z } from 'zod'
import type { OperatorRoute } from '../../api/operation.ts'
import { defineOperation, handleOperation } from '../../api/operation.ts'

export const actionOperation = defineOperation({
  id: 'performActions',
  method: 'POST',
  path: '/agents/{agent}/acts',
  summary: 'Posts, edits, deletes or reacts as an agent.',
  task: 'act',
  parameters: z.object({ agent: z.string() }),
  body: {
    schema: z.strictObject({ acts: z.array(agentActionSchema).min(1).max(20) }),
    maxBytes: 8 * 1024 * 1024,
    maxDepth: 16,
  },
  answer: z.object({
    done: z.array(
      z.object({ act: z.string(), id: z.string().optional().describe('Of a post: the id for later edits.') }),
    ),
  }),
  refusals: {
    no_recipient: 'There is no such agent, or not what it is to change.',
    forbidden: 'The agent may not do that.',
    unsupported: 'No channel can do that.',
  },
})

export interface ActionRouteOptions {
  readonly agents: Pick<AgentDeps, 'find' | 'domain'>
  readonly acting: PublisherDeps
}

/** What an agent does of itself, on the word of whoever holds the operator token: posts, edits, deletions, reactions. */
export function createAgentActionRoute({ agents, acting }: ActionRouteOptions): OperatorRoute {
  return handleOperation(actionOperation, async ({ parameters: { agent }, body: { acts } }) => {
    if (!agents.find(agent)) throw new Rejection('no_recipient', 'Cannot act: there is no such agent')
    const named = acts.map(act => (act.act === 'post' ? { ...act, id: makeId(acting.platform) } : act))
    await performActions(named, { agent, address: `@${agent}@${agents.domain}` }, acting)
    return { done: named.map(act => ('id' in act ? { act: act.act, id: act.id } : { act: act.act })) }
  })
}
