import type { ListedDecision } from '@postern/core'
import { rememberedDecisionSchema } from '@postern/core'
import { z } from 'zod'
import { defineOperation } from '../../api/operation.ts'
import { listFilters, pageOf, pageParameters } from '../../api/page.ts'

const { sender, since, until, text } = listFilters

const listedDecisionSchema: z.ZodType<ListedDecision> = rememberedDecisionSchema
  .extend({ place: z.int().describe('Number of it.') })
  .meta({ id: 'RememberedDecision' })

export const approvalOperations = {
  list: defineOperation({
    id: 'listApprovals',
    method: 'GET',
    path: '/agents/{agent}/approvals',
    summary: 'Lists the decisions that count for later calls of tools, newest first.',
    task: 'list approvals',
    parameters: z.object({ agent: z.string() }),
    query: z.object({ sender, since, until, text, ...pageParameters }),
    answer: pageOf(listedDecisionSchema),
  }),
  revoke: defineOperation({
    id: 'revokeApproval',
    method: 'DELETE',
    path: '/agents/{agent}/approvals/{id}',
    summary: 'Ends such a decision: the agent asks again.',
    task: 'revoke approval',
    parameters: z.object({ agent: z.string(), id: z.string() }),
    answer: z.object({ id: z.string(), revoked: z.literal(true) }),
    refusals: { no_recipient: 'There is none with this id.' },
  }),
} as const
