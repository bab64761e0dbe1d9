import type { Command } from 'commander'
import type { CommandContext, CommonOptions } from '../context.ts'

const loadView = () => import('./view.ts')

/** Public keys. */
export function addKeyCommands(program: Command, { output }: CommandContext): void {
  const keys = program.command('keys').description('public keys and the DNS records to publish: list, rotate')
  keys
    .command('list', { isDefault: true })
    .description('list all keys (default)')
    .option('--json', 'print JSON, for programs')
    .action(async (options: CommonOptions) => (await loadView()).printKeys(output(options)))
  keys
    .command('rotate [agent]')
    .description('make new keys for one agent, or for all agents and mail; the old ones stay published for a while')
    .option('--revoke', 'stop publishing the old keys at once, because somebody else has one')
    .option('--json', 'print JSON, for programs')
    .action(async (agent: string | undefined, options: CommonOptions & { revoke?: boolean }) =>
      (await loadView()).rotateAllKeys(output(options), { agent, revoke: options.revoke === true }),
    )
}
