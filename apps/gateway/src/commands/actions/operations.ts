import { agentActionSchema } from '@postern/core'
import { z } from 'zod'
import { defineOperation } from '../../api/operation.ts'

export const actionOperations = {
  perform: defineOperation({
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
  }),
} as const
