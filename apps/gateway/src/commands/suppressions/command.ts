import type { Command } from 'commander'
import type { CommandContext, CommonOptions } from '../context.ts'

const loadView = () => import('./view.ts')

/** Addresses that get no mail any more. */
export function addSuppressionCommands(program: Command, { output }: CommandContext): void {
  const suppressions = program
    .command('suppressions')
    .description('addresses that get no mail of an agent any more, after a bounce or a complaint: list, lift')
  suppressions
    .command('list <agent>', { isDefault: true })
    .description('list the suppressions of one agent (default)')
    .option('--json', 'print JSON, for programs')
    .action(async (agent: string, options: CommonOptions) =>
      (await loadView()).printSuppressions(output(options), agent),
    )
  suppressions
    .command('lift <agent> <address>')
    .description('lift a suppression: the agent may mail the address again')
    .action(async (agent: string, peer: string) => (await loadView()).liftSuppression(output({}), { agent, peer }))
}
