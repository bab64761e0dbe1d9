import type { ListedDecision } from '@postern/core'
import { formatTable } from '../../terminal/table.ts'
import type { ClientOpener } from '../client.ts'
import type { Output } from '../context.ts'

/** What was decided for later calls, too. */
export async function printRemembered(openClient: ClientOpener, output: Output, agent: string): Promise<void> {
  const client = await openClient()
  try {
    const listed = (await client.request(`/operator/api/agents/${encodeURIComponent(agent)}/approvals`)) as {
      readonly approvals: readonly ListedDecision[]
    }
    output.print(output.json ? JSON.stringify(listed, null, 2) : formatRemembered(listed.approvals))
  } finally {
    await client.close()
  }
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
