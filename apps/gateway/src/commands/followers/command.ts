import type { Command } from 'commander'
import type { CommandContext, CommonOptions } from '../context.ts'

const loadView = () => import('./view.ts')

/** Who follows an agent, or asks to. */
export function addFollowerCommands(program: Command, { output }: CommandContext): void {
  const followers = program
    .command('followers')
    .description('followers and follow requests of an agent: list, accept, reject')
  followers
    .command('list <agent>', { isDefault: true })
    .description('list the followers of an agent (default)')
    .option('--pending', 'list the follow requests that wait')
    .option('--json', 'print JSON, for programs')
    .action(async (agent: string, options: CommonOptions & { pending?: boolean }) =>
      (await loadView()).printFollowers(output(options), agent, options.pending ? 'pending' : 'follower'),
    )
  for (const [verdict, does] of [
    ['accept', 'accept the follow request of an actor'],
    ['reject', 'reject the follow request of an actor'],
  ] as const) {
    followers
      .command(`${verdict} <agent> <actor>`)
      .description(does)
      .action(async (agent: string, peer: string) =>
        (await loadView()).decideFollowRequest(output({}), verdict, { agent, peer }),
      )
  }
}
