import type { RememberedStore } from '@postern/core'
import { Rejection } from '@postern/core'
import { containsText, filterPage, isWithin, passing } from '../../api/filter-page.ts'
import type { OperatorRoute } from '../../api/operation.ts'
import { handleOperation } from '../../api/operation.ts'
import { approvalOperations } from './operations.ts'

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
      if (!(await store.revokeRemembered({ agent, id }))) {
        throw new Rejection('no_recipient', 'Cannot revoke approval: there is none with this id')
      }
      return { id, revoked: true as const }
    }),
  ]
}
