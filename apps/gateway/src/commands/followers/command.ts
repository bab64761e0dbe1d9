import type { Command } from 'commander'
import type { CommandContext, CommonOptions } from '../context.ts'
import { decideFollowRequest, printFollowers } from './view.ts'

/** Who follows an agent, or asks to. */
export function addFollowerCommands(program: Command, { openClient, output }: CommandContext): void {
  const followers = program.command('followers').description('who follows an agent, or asks to: list, accept, reject')
  followers
    .command('list <agent>', { isDefault: true })
    .description('who follows it (what is done when no command is named)')
    .option('--pending', 'those who ask and wait')
    .option('--json', 'for programs')
    .action(async (agent: string, options: CommonOptions & { pending?: boolean }) =>
      printFollowers(openClient, output(options), agent, options.pending ? 'pending' : 'follower'),
    )
  for (const [verdict, does] of [
    ['accept', 'let an actor follow who asks to'],
    ['reject', 'refuse an actor who asks to follow'],
  ] as const) {
    followers
      .command(`${verdict} <agent> <actor>`)
      .description(does)
      .action(async (agent: string, peer: string) =>
        decideFollowRequest(openClient, output({}), verdict, { agent, peer }),
      )
  }
}
