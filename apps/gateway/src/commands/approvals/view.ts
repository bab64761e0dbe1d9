import type { ListedDecision } from '@postern/core'
import { formatTable, toTerminalLine } from '../../terminal/text.ts'
import type { ApiOutput } from '../context.ts'
import { printAnswer } from '../print-list.ts'
import { approvalOperations } from './route.ts'

/** What was decided for later calls, too. */
export function printRemembered(output: ApiOutput, agent: string): Promise<void> {
  return printAnswer(output, approvalOperations.list, { parameters: { agent } }, ({ items }) => formatRemembered(items))
}

function formatRemembered(approvals: readonly ListedDecision[]): string {
  return formatTable(
    ['id', 'tool', 'of', 'counts', 'decided by', 'where', 'until'],
    approvals.map(({ id, tool, member, address, policy, approver, scope, thread, expires_at }) => [
      id,
      member === undefined ? tool : `${tool} (${member})`,
      address,
      policy,
      approver,
      scope === 'always' ? 'everywhere' : `conversation ${thread}`,
      expires_at.slice(0, 16),
    ]),
  )
}

/** Ends one of them. */
export function revokeRemembered(
  output: ApiOutput,
  named: { readonly agent: string; readonly id: string },
): Promise<void> {
  const input = { parameters: named }
  return printAnswer(output, approvalOperations.revoke, input, () => `${toTerminalLine(named.id)}: revoked`)
}
