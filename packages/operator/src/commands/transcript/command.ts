// Declares the commands `export` and `import`.
import { exchangeFormats } from '@postern/transcript'
import type { Command } from 'commander'
import { Option } from 'commander'
import { CommandError } from '../../client/client.ts'
import type { ApiOutput, CommandContext, CommonOptions } from '../context.ts'
import { parseTimeOption } from '../parse-time-option.ts'
import type { TableFormat } from './table-formats.ts'
import { tableFormats } from './table-formats.ts'
import type { TranscriptRequest } from './view.ts'

const loadView = () => import('./view.ts')

/** Adds the options that name a conversation and a format. */
function addThreadOptions(command: Command, { isNeeded }: { readonly isNeeded: boolean }): Command {
  const format = new Option('--format <format>', 'format of the messages').choices([...exchangeFormats])
  const thread = new Option(
    '--thread <thread>',
    'conversation: id or #number of one of its messages; with --owner the thread’s name, such as web:["desk","thread-1"]',
  )
  return command
    .addOption(format.makeOptionMandatory(isNeeded))
    .addOption(thread.makeOptionMandatory(isNeeded))
    .option('--owner <owner>', 'owner of a conversation of the chat or a store: web:["<issuer>","<subject>"]')
}

interface ExportOptions extends Partial<TranscriptRequest> {
  readonly messages?: TableFormat
  readonly since?: string
  readonly until?: string
  readonly agent?: string
  readonly channel?: string
}

async function runExport(
  output: ApiOutput,
  { messages, since, until, agent, channel, format, thread, owner }: ExportOptions,
): Promise<void> {
  if (messages !== undefined) {
    const { exportMessages } = await import('./message-table.ts')
    return exportMessages(output, messages, {
      agent,
      channel,
      since: parseTimeOption(since),
      until: parseTimeOption(until),
    })
  }
  if (format === undefined || thread === undefined)
    throw new CommandError(
      'cannot export: name a conversation with --format and --thread, or use --messages for the list of messages',
    )
  await (await loadView()).exportTranscript(output, { format, thread, owner })
}

export function addTranscriptCommands(program: Command, { output }: CommandContext): void {
  addThreadOptions(program.command('export'), { isNeeded: false })
    .description('print a conversation in one of the formats of the transcript, or the list of messages')
    .addOption(new Option('--messages <format>', 'the list of messages instead').choices([...tableFormats]))
    .option('--since <when>', 'with --messages: not before: a time ago (30m, 12h, 7d) or an instant (ISO 8601)')
    .option('--until <when>', 'with --messages: before this time, in the same form')
    .option('--agent <name>', 'with --messages: only messages to this agent')
    .option('--channel <name>', 'with --messages: only messages by this channel')
    .action(async (options: ExportOptions) => runExport(output({}), options))
  addThreadOptions(program.command('import <path>'), { isNeeded: true })
    .description('add messages to a conversation, from a file or from standard input (-)')
    .option('--json', 'print JSON, for programs')
    .action(async (path: string, options: TranscriptRequest & CommonOptions) =>
      (await loadView()).importTranscript(output(options), { ...options, path }),
    )
}
