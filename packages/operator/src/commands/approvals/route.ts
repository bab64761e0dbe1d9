// Lists and revokes decisions that count for later calls of tools, in the operator's API.
import type { ListedDecision, RememberedStore } from '@postern/pipeline'
import { rememberedDecisionSchema } from '@postern/pipeline'
import { z } from 'zod'
import type { OperatorRoute } from '../../api/operation.ts'
import { defineOperation, handleOperation, requireFound } from '../../api/operation.ts'
import {
  containsText,
  filterPage,
  isWithin,
  listFilters,
  pageOf,
  pageParameters,
  selectMatching,
  unknownNameRefusal,
} from '../../api/page.ts'

const { sender, since, until, text } = listFilters

const listedDecisionSchema: z.ZodType<ListedDecision> = rememberedDecisionSchema
  .extend({ number: z.int().describe('Number of the decision.') })
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
    refusals: unknownNameRefusal,
  }),
  revoke: defineOperation({
    id: 'revokeApproval',
    method: 'DELETE',
    path: '/agents/{agent}/approvals/{id}',
    summary: 'Ends a decision for later calls: the agent asks again.',
    task: 'revoke approval',
    parameters: z.object({ agent: z.string(), id: z.string() }),
    answer: z.object({ id: z.string(), revoked: z.literal(true) }),
    refusals: { no_recipient: 'There is no decision with this id.' },
  }),
} as const

export function createApprovalRoutes(store: RememberedStore): readonly OperatorRoute[] {
  return [
    handleOperation(approvalOperations.list, ({ parameters: { agent }, query }) =>
      filterPage(
        query,
        page => store.listRememberedDecisions({ agent, ...page }),
        selectMatching(
          ({ address, tool, given_at }) =>
            containsText(address, query.sender) &&
            containsText(tool, query.text) &&
            isWithin(Date.parse(given_at), query),
        ),
      ),
    ),
    handleOperation(approvalOperations.revoke, async ({ parameters: { agent, id } }) => {
      requireFound(
        await store.revokeRememberedDecision({ agent, id }),
        'Cannot revoke approval: there is no decision with this id',
      )
      return { id, revoked: true as const }
    }),
  ]
}
