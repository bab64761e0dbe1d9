// Declares the commands that list messages, deliveries and refusals, and change deliveries.
import type { Command } from 'commander'
import { InvalidArgumentError, Option } from 'commander'
import type { CommandContext, CommonOptions } from '../context.ts'
import { parseTimeOption } from '../parse-time-option.ts'
import type { MessageFilter, RefusalFilter } from './operations.ts'
import type { DeliveryState } from './states.ts'
import { deliveryStates, messageStates } from './states.ts'

const loadView = () => import('./view.ts')

/** Reads a limit. @throws InvalidArgumentError */
function readLimit(text: string): number {
  const limit = Number(text)
  if (Number.isInteger(limit) && limit >= 1 && limit <= 500) return limit
  throw new InvalidArgumentError('It must be a whole number from 1 to 500.')
}

interface MessageOptions extends CommonOptions, Omit<MessageFilter, 'limit' | 'after'> {
  readonly follow?: true
  readonly limit: number
}

async function listOrFollow(
  { follow, json, limit, since, until, ...filters }: MessageOptions,
  { output }: Pick<CommandContext, 'output'>,
): Promise<void> {
  const filter = { ...filters, since: parseTimeOption(since), until: parseTimeOption(until), limit }
  const { printFollowed, printMessages } = await loadView()
  const print = follow ? printFollowed : printMessages
  return print(output({ json: json === true }), filter)
}

export function addMessageCommands(program: Command, { output }: CommandContext): void {
  program
    .command('messages')
    .description('list the messages that came in, newest first')
    .option('--follow', 'then print each message that arrives or changes')
    .option('--agent <name>', 'only messages to this agent')
    .option('--channel <name>', 'only messages by this channel')
    .addOption(new Option('--state <state>', 'only messages in this state').choices([...messageStates]))
    .option('--sender <text>', 'only messages of senders whose address contains this')
    .option('--flag <flag>', 'only messages with this flag')
    .option('--since <when>', 'not before: a time ago (30m, 12h, 7d) or an instant (ISO 8601)')
    .option('--until <when>', 'before: a time ago (30m, 12h, 7d) or an instant (ISO 8601)')
    .option('--text <words>', 'only messages whose text contains this')
    .option('--limit <n>', 'number of messages, at most 500', readLimit, 20)
    .option('--json', 'print JSON, for programs')
    .action(async (options: MessageOptions) => listOrFollow(options, { output }))
  program
    .command('show <id>')
    .description('show one message: proofs, the text that the agent got, its answer, every step with its time')
    .option('--json', 'print JSON, for programs')
    .action(async (id: string, options: CommonOptions) => (await loadView()).printMessage(output(options), id))
  const deliveries = program
    .command('deliveries')
    .description('deliveries of answers: list, show, retry, drop, dismiss')
  deliveries
    .command('list', { isDefault: true })
    .description('list the deliveries with their last attempt, newest first (default)')
    .addOption(new Option('--state <state>', 'only deliveries in this state').choices([...deliveryStates]))
    .option('--json', 'print JSON, for programs')
    .action(async (options: CommonOptions & { state?: DeliveryState }) =>
      (await loadView()).printDeliveries(output(options), options.state),
    )
  deliveries
    .command('show <id>')
    .description('show one delivery: each attempt with its time and the answer to it')
    .option('--json', 'print JSON, for programs')
    .action(async (id: string, options: CommonOptions) => (await loadView()).printDelivery(output(options), id))
  for (const [action, description] of [
    ['retry', 'try a delivery again now'],
    ['drop', 'give a delivery up'],
    ['dismiss', 'take a dead letter out of the count'],
  ] as const) {
    deliveries
      .command(`${action} <id>`)
      .description(description)
      .action(async (id: string) => (await loadView()).changeListedDelivery(output({}), action, id))
  }
  addRefusals(program, { output })
}

function addRefusals(program: Command, { output }: Pick<CommandContext, 'output'>): void {
  program
    .command('refusals')
    .description('list messages and requests that the gateway refused, with sender, reason and fix')
    .option('--agent <name>', 'only refusals for this agent')
    .option(
      '--channel <name>',
      'only refusals by this channel; gateway: failures of pages, discovery, files and the API',
    )
    .option('--code <code>', 'only refusals with this code, such as unsigned, forbidden or unavailable')
    .option('--sender <text>', 'only refusals whose claimed sender or network address contains this')
    .option('--since <when>', 'not before: a time ago (30m, 12h, 7d) or an instant (ISO 8601)')
    .option('--until <when>', 'before: a time ago (30m, 12h, 7d) or an instant (ISO 8601)')
    .option('--text <words>', 'only refusals whose reason contains this')
    .option('--limit <n>', 'number of refusals, at most 500', readLimit, 20)
    .option('--json', 'print JSON, for programs')
    .action(async ({ json, since, until, ...filters }: CommonOptions & RefusalFilter) => {
      const filter = { ...filters, since: parseTimeOption(since), until: parseTimeOption(until) }
      return (await loadView()).printRefusals(output({ json: json === true }), filter)
    })
}
