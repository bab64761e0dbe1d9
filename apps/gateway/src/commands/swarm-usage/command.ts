import type { Command } from 'commander'
import type { CommandContext, CommonOptions } from '../context.ts'

const loadView = () => import('./view.ts')

/** What a swarm keeps for all of its conversations. */
export function addSwarmUsageCommand(program: Command, { output }: CommandContext): void {
  program
    .command('swarm-usage <agent>')
    .description('show how much a swarm keeps for all conversations, and how much it may keep')
    .option('--json', 'print JSON, for programs')
    .action(async (agent: string, options: CommonOptions) => (await loadView()).printSwarmUsage(output(options), agent))
}
