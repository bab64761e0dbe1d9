import type { Command } from 'commander'
import { printBans } from '../cli/bans.ts'
import { endListed } from '../cli/end-listed.ts'
import { decideFollowRequest, printFollowers } from '../cli/followers.ts'
import { printShared } from '../cli/shared.ts'
import { liftSuppression, printSuppressions } from '../cli/suppressions.ts'
import type { CommandContext, CommonOptions } from './command-context.ts'

/** Whom an agent deals with: followers, suppressed addresses, bans; and what it keeps for all of them. */
export function addPeerCommands(program: Command, { file, output }: CommandContext): void {
  const followers = program.command('followers').description('who follows an agent, or asks to: list, accept, reject')
  followers
    .command('list <agent>', { isDefault: true })
    .description('who follows it (what is done when no command is named)')
    .option('--pending', 'those who ask and wait')
    .option('--json', 'for programs')
    .action(async (agent: string, options: CommonOptions & { pending?: boolean }) =>
      printFollowers(await file(), output(options), agent, options.pending ? 'pending' : 'follower'),
    )
  for (const [verdict, does] of [
    ['accept', 'let an actor follow who asks to'],
    ['reject', 'refuse an actor who asks to follow'],
  ] as const) {
    followers
      .command(`${verdict} <agent> <actor>`)
      .description(does)
      .action(async (agent: string, peer: string) =>
        decideFollowRequest(await file(), output({}), verdict, { agent, peer }),
      )
  }
  const suppressions = program
    .command('suppressions')
    .description('addresses an agent sends no mail to any more, because it came back or was complained of: list, lift')
  suppressions
    .command('list <agent>', { isDefault: true })
    .description('those of one agent (what is done when no command is named)')
    .option('--json', 'for programs')
    .action(async (agent: string, options: CommonOptions) => printSuppressions(await file(), output(options), agent))
  suppressions
    .command('lift <agent> <address>')
    .description('mail goes there again')
    .action(async (agent: string, peer: string) => liftSuppression(await file(), output({}), { agent, peer }))
  const bans = program.command('bans').description('whom the policies of a swarm have banned: list, lift')
  bans
    .command('list <agent>', { isDefault: true })
    .description('those of one agent (what is done when no command is named)')
    .option('--json', 'for programs')
    .action(async (agent: string, options: CommonOptions) => printBans(await file(), output(options), agent))
  bans
    .command('lift <agent> <id>')
    .description('is heard again')
    .action(async (agent: string, id: string) =>
      endListed(await file(), output({}), { agent, list: 'bans', id, said: 'lifted' }),
    )
  program
    .command('swarm-usage <agent>')
    .description('how much a swarm keeps for all of its conversations, and how much it may')
    .option('--json', 'for programs')
    .action(async (agent: string, options: CommonOptions) => printShared(await file(), output(options), agent))
}
