import type { Command } from 'commander'
import type { CommandContext, CommonOptions } from '../context.ts'
import { printKeys, rotateKeys } from './view.ts'

/** Public keys. */
export function addKeyCommands(program: Command, { openClient, output }: CommandContext): void {
  const keys = program.command('keys').description('public keys and the DNS records to publish: list, rotate')
  keys
    .command('list', { isDefault: true })
    .description('all of them (what is done when no command is named)')
    .option('--json', 'for programs')
    .action(async (options: CommonOptions) => printKeys(openClient, output(options)))
  keys
    .command('rotate [agent]')
    .description('new keys for one agent, or for all and for mail; the old ones stay published for a while')
    .option('--revoke', 'the old ones are not published any more from now on: somebody else has one')
    .option('--json', 'for programs')
    .action(async (agent: string | undefined, options: CommonOptions & { revoke?: boolean }) =>
      rotateKeys(openClient, output(options), { agent, revoke: options.revoke === true }),
    )
}
