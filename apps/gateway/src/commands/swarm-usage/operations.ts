import { z } from 'zod'
import { defineOperation } from '../../api/operation.ts'

const quotaSchema = z.object({ records: z.int(), bytes: z.int() })

export const swarmOperations = {
  readUsage: defineOperation({
    id: 'readSwarmUsage',
    method: 'GET',
    path: '/agents/{agent}/swarm-usage',
    summary: 'Shows how much a swarm keeps for all of its conversations, and how much it may.',
    task: 'show what is shared',
    parameters: z.object({ agent: z.string() }),
    answer: z.object({ agent: z.string(), used: quotaSchema, most: quotaSchema }),
    refusals: { no_recipient: 'There is no swarm of this name.' },
  }),
} as const
