import type { Command } from 'commander'
import { Option } from 'commander'
import type { CommandContext, CommonOptions } from '../context.ts'
import type { DeliveryState } from './schemas.ts'
import { deliveryStates } from './schemas.ts'
import {
  changeListedDelivery,
  printDeliveries,
  printDelivery,
  printMessage,
  printMessages,
  printRefusals,
} from './view.ts'

/** What came in and what went out. */
export function addMessageCommands(program: Command, { openClient, output }: CommandContext): void {
  program
    .command('messages')
    .description('list the messages that came in, newest first')
    .option('--limit <n>', 'number of messages', '20')
    .option('--json', 'print JSON, for programs')
    .action(async (options: CommonOptions & { limit: string }) =>
      printMessages(openClient, output(options), Number(options.limit)),
    )
  program
    .command('show <id>')
    .description('show one message: its proofs, what the agent saw and said, every step with its time')
    .option('--json', 'print JSON, for programs')
    .action(async (id: string, options: CommonOptions) => printMessage(openClient, output(options), id))
  const deliveries = program
    .command('deliveries')
    .description('deliveries of answers: list, show, retry, drop, dismiss')
  deliveries
    .command('list', { isDefault: true })
    .description('list the deliveries with their last attempt, newest first (default)')
    .addOption(new Option('--state <state>', 'only deliveries in this state').choices([...deliveryStates]))
    .option('--json', 'print JSON, for programs')
    .action(async (options: CommonOptions & { state?: DeliveryState }) =>
      printDeliveries(openClient, output(options), options.state),
    )
  deliveries
    .command('show <id>')
    .description('show one delivery: each attempt with its time and the answer to it')
    .option('--json', 'print JSON, for programs')
    .action(async (id: string, options: CommonOptions) => printDelivery(openClient, output(options), id))
  program
    .command('refusals')
    .description('list what was refused or could not be taken, from whom, and what mends it')
    .option('--limit <n>', 'number of refusals', '20')
    .option('--json', 'print JSON, for programs')
    .action(async (options: CommonOptions & { limit: string }) =>
      printRefusals(openClient, output(options), Number(options.limit)),
    )
  for (const [action, does] of [
    ['retry', 'try a delivery again now'],
    ['drop', 'give a delivery up'],
    ['dismiss', 'take a dead letter out of the count'],
  ] as const) {
    deliveries
      .command(`${action} <id>`)
      .description(does)
      .action(async (id: string) => changeListedDelivery(openClient, output({}), action, id))
  }
}
