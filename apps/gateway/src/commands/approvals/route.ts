import type { ListedDecision, RememberedStore } from '@postern/core'
import { rememberedDecisionSchema } from '@postern/core'
import { z } from 'zod'
import type { OperatorRoute } from '../../api/operation.ts'
import { defineOperation, handleOperation, requireFound } from '../../api/operation.ts'
import { containsText, filterPage, isWithin, listFilters, pageOf, pageParameters, passing } from '../../api/page.ts'

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

/** What was decided for later calls of tools, too: by those who were asked, and by operators. Whoever revokes it has it asked again. */
export function createApprovalRoutes(store: RememberedStore): readonly OperatorRoute[] {
  return [
    handleOperation(approvalOperations.list, ({ parameters: { agent }, query }) =>
      filterPage(
        query,
        page => store.listRemembered({ agent, ...page }),
        passing(
          ({ address, tool, given_at }) =>
            containsText(address, query.sender) &&
            containsText(tool, query.text) &&
            isWithin(Date.parse(given_at), query),
        ),
      ),
    ),
    handleOperation(approvalOperations.revoke, async ({ parameters: { agent, id } }) => {
      requireFound(await store.revokeRemembered({ agent, id }), 'Cannot revoke approval: there is none with this id')
      return { id, revoked: true as const }
    }),
  ]
}
