// Prints decisions that count for later calls of tools, and revokes one.
import type { ListedDecision } from '@postern/pipeline'
import { formatTable, toTerminalLine } from '../../terminal/text.ts'
import { createOperationView } from '../operation-view.ts'
import { approvalOperations } from './route.ts'

export const approvalViews = {
  list: createOperationView(approvalOperations.list, ({ items }) => formatRemembered(items)),
  revoke: createOperationView(approvalOperations.revoke, ({ id }) => `${toTerminalLine(id)}: revoked`),
}

function formatRemembered(approvals: readonly ListedDecision[]): string {
  return formatTable(
    ['id', 'tool', 'of', 'counts', 'decided by', 'where', 'until'],
    approvals.map(({ id, tool, calls, member, address, policy, approver, scope, thread, expires_at }) => [
      id,
      [tool, member && `(${member})`, calls && '(some arguments)'].filter(Boolean).join(' '),
      address,
      policy,
      approver,
      scope === 'always' ? 'everywhere' : `conversation ${thread}`,
      expires_at.slice(0, 16),
    ]),
  )
}
