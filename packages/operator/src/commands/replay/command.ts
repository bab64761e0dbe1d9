// Declares the command `replay`.
import type { Command } from 'commander'
import type { CommandContext, CommonOptions } from '../context.ts'
import type { ReplayCommandOptions } from './view.ts'

const loadView = () => import('./view.ts')

export function addReplayCommand(program: Command, { output }: CommandContext): void {
  program
    .command('replay')
    .description('run stored messages through today’s code and show the differences; sends nothing without --commit')
    .argument('[id]', 'number or id of one message; without it, the range that the options name')
    .option('--agent <file>', 'a module of the project that answers in place of the agent, such as ./agents/new.ts')
    .option('--now', 'use the present time and fetch keys again; default: the recorded time and keys, without a fetch')
    .option('--call', 'also call remote agents (webhooks, models) and other agents, which then see the message again')
    .option('--commit', 'for one message: queue the new answer in place of the old one')
    .option('--again', 'with --commit: send a further mail or post where the recorded answer has failed')
    .option('--since <when>', 'a time ago (30m, 12h, 7d) or an instant (ISO 8601)')
    .option('--until <when>', 'end of the range, in the same form')
    .option('--channel <channel>', 'only messages by this channel')
    .option('--to <agent>', 'only messages to this agent')
    .option('--limit <n>', 'number of messages at most', '1000')
    .option('--json', 'print JSON, for programs: one message a line')
    .action(async (id: string | undefined, options: CommonOptions & ReplayCommandOptions) =>
      id === undefined
        ? (await loadView()).printReplays(output(options), options)
        : (await loadView()).printReplay(output(options), id, options),
    )
}
