// Lets the operator make an agent post, reply, edit, delete or react.
import { agentActionSchema, makeId, Rejection } from '@postern/message'
import type { AgentDirectory, PublisherDeps } from '@postern/pipeline'
import { performActions } from '@postern/pipeline'
import { z } from 'zod'
import type { OperatorRoute } from '../../api/operation.ts'
import { defineOperation, handleOperation } from '../../api/operation.ts'

export const actionOperation = defineOperation({
  id: 'performActions',
  method: 'POST',
  path: '/agents/{agent}/acts',
  summary: 'Posts, replies, edits, deletes or reacts as an agent.',
  task: 'act',
  parameters: z.object({ agent: z.string() }),
  body: {
    schema: z.strictObject({ acts: z.array(agentActionSchema).min(1).max(20) }),
    maxBytes: 8 * 1024 * 1024,
    maxDepth: 16,
  },
  answer: z.object({
    done: z.array(
      z.object({
        act: z.string(),
        id: z.string().optional().describe('The id of a post or reply, for later edits.'),
      }),
    ),
  }),
  refusals: {
    no_recipient: 'There is no such agent, or no such post of it.',
    forbidden: 'The agent may not do that.',
    unsupported: 'No channel can do that.',
  },
})

export interface ActionRouteDeps {
  readonly agents: Pick<AgentDirectory, 'find' | 'domain'>
  readonly acting: PublisherDeps
}

export function createAgentActionRoute({ agents, acting }: ActionRouteDeps): OperatorRoute {
  return handleOperation(actionOperation, async ({ parameters: { agent }, body: { acts } }) => {
    if (!agents.find(agent)) throw new Rejection('no_recipient', 'Cannot act: there is no such agent')
    const actions = acts.map(act =>
      act.act === 'post' || act.act === 'reply' ? { ...act, id: makeId(acting.system) } : act,
    )
    await performActions(actions, { agent, address: `@${agent}@${agents.domain}` }, acting)
    return { done: actions.map(act => ('id' in act ? { act: act.act, id: act.id } : { act: act.act })) }
  })
}
