import type { Command } from 'commander'
import type { CommandContext, CommonOptions } from '../context.ts'

const loadView = () => import('./view.ts')

/** What was decided for later calls, too. */
export function addApprovalCommands(program: Command, { output }: CommandContext): void {
  const approvals = program
    .command('approvals')
    .description('decisions that count for later calls of tools: list, revoke')
  approvals
    .command('list <agent>', { isDefault: true })
    .description('list the decisions of one agent, newest first (default)')
    .option('--json', 'print JSON, for programs')
    .action(async (agent: string, options: CommonOptions) => (await loadView()).printRemembered(output(options), agent))
  approvals
    .command('revoke <agent> <id>')
    .description('end a decision: the agent asks again')
    .action(async (agent: string, id: string) => (await loadView()).revokeRemembered(output({}), { agent, id }))
}
