import type { Command } from 'commander'
import { Option } from 'commander'
import type { CommandContext, CommonOptions } from '../context.ts'
import { changeDelivery, printDeliveries, printMessage, printMessages } from './view.ts'

/** What came in and what went out. */
export function addMessageCommands(program: Command, { openClient, output }: CommandContext): void {
  program
    .command('messages')
    .description('what came in, newest first')
    .option('--limit <n>', 'how many', '20')
    .option('--json', 'for programs')
    .action(async (options: CommonOptions & { limit: string }) =>
      printMessages(openClient, output(options), options.limit),
    )
  program
    .command('show <id>')
    .description('one message: proofs, what the agent saw and said, every delivery')
    .option('--json', 'for programs')
    .action(async (id: string, options: CommonOptions) => printMessage(openClient, output(options), id))
  const deliveries = program.command('deliveries').description('what goes out: list, retry, drop, dismiss')
  deliveries
    .command('list', { isDefault: true })
    .description('newest first (what is done when no command is named)')
    .addOption(new Option('--state <state>', 'only these').choices(['queued', 'sent', 'later', 'dead', 'dismissed']))
    .option('--json', 'for programs')
    .action(async (options: CommonOptions & { state?: string }) =>
      printDeliveries(openClient, output(options), options.state),
    )
  for (const [action, does] of [
    ['retry', 'try it again now'],
    ['drop', 'give it up'],
    ['dismiss', 'a dead letter that needs nothing more: it no longer counts'],
  ] as const) {
    deliveries
      .command(`${action} <id>`)
      .description(does)
      .action(async (id: string) => changeDelivery(openClient, output({}), action, id))
  }
}
