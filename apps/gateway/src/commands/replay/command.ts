import type { Command } from 'commander'
import type { CommandContext, CommonOptions } from '../context.ts'
import type { ReplayWords } from './view.ts'

const loadView = () => import('./view.ts')

/** What the code of today makes of what came yesterday. */
export function addReplayCommand(program: Command, { output }: CommandContext): void {
  program
    .command('replay')
    .description('run stored messages through the code of today and show what differs; sends nothing without --commit')
    .argument('[id]', 'number or id of one message; without it, the range that the options name')
    .option('--agent <file>', 'a module of the project that answers in place of the agent, such as ./agents/new.ts')
    .option('--now', 'with the time of today and keys fetched anew; default: those of then, without a fetch')
    .option('--call', 'call agents elsewhere (webhooks, models), too: they see the message once more')
    .option('--commit', 'of one message: queue the new answer in place of the old one')
    .option('--since <when>', 'a time ago (30m, 12h, 7d) or an instant (ISO 8601)')
    .option('--until <when>', 'likewise')
    .option('--channel <channel>', 'only messages by this channel')
    .option('--to <agent>', 'only messages to this agent')
    .option('--limit <n>', 'most messages', '1000')
    .option('--json', 'print JSON, for programs: one message a line')
    .action(async (id: string | undefined, options: CommonOptions & ReplayWords) =>
      id === undefined
        ? (await loadView()).printReplays(output(options), options)
        : (await loadView()).printReplay(output(options), id, options),
    )
}
