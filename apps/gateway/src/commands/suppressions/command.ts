import type { Command } from 'commander'
import type { CommandContext, CommonOptions } from '../context.ts'
import { liftSuppression, printSuppressions } from './view.ts'

/** Addresses that get no mail any more. */
export function addSuppressionCommands(program: Command, { openClient, output }: CommandContext): void {
  const suppressions = program
    .command('suppressions')
    .description('addresses an agent sends no mail to any more, because it came back or was complained of: list, lift')
  suppressions
    .command('list <agent>', { isDefault: true })
    .description('those of one agent (what is done when no command is named)')
    .option('--json', 'for programs')
    .action(async (agent: string, options: CommonOptions) => printSuppressions(openClient, output(options), agent))
  suppressions
    .command('lift <agent> <address>')
    .description('mail goes there again')
    .action(async (agent: string, peer: string) => liftSuppression(openClient, output({}), { agent, peer }))
}
