import type { Command } from 'commander'
import type { CommandContext, CommonOptions } from '../context.ts'

const loadView = () => import('./view.ts')

/** Whom the policies of a swarm have banned. */
export function addBanCommands(program: Command, { output }: CommandContext): void {
  const bans = program.command('bans').description('senders that the policies of a swarm have banned: list, lift')
  bans
    .command('list <agent>', { isDefault: true })
    .description('list the bans of one agent (default)')
    .option('--json', 'print JSON, for programs')
    .action(async (agent: string, options: CommonOptions) => (await loadView()).printBans(output(options), agent))
  bans
    .command('lift <agent> <id>')
    .description('lift a ban: the agent hears the sender again')
    .action(async (agent: string, id: string) => (await loadView()).liftBan(output({}), { agent, id }))
}
