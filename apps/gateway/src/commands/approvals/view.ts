import type { ListedDecision } from '@postern/core'
import { formatTable, toTerminalLine } from '../../terminal/text.ts'
import type { ApiOutput } from '../context.ts'
import { printAnswer } from '../print-list.ts'
import { approvalOperations } from './route.ts'

/** What was decided for later calls, too. */
export function printRemembered(output: ApiOutput, agent: string): Promise<void> {
  const asked = { operation: approvalOperations.list, input: { parameters: { agent } } }
  return printAnswer(output, asked, ({ items }) => formatRemembered(items))
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
  const asked = { operation: approvalOperations.revoke, input: { parameters: named } }
  return printAnswer(output, asked, () => `${toTerminalLine(named.id)}: revoked`)
}
