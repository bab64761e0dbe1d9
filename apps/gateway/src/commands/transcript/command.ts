import { exchangeFormats } from '@postern/transcript'
import type { Command } from 'commander'
import { Option } from 'commander'
import type { CommandContext, CommonOptions } from '../context.ts'
import type { TranscriptRequest } from './view.ts'

const loadView = () => import('./view.ts')

/** Which conversation, in which format. */
function withPlace(command: Command): Command {
  const format = new Option('--format <format>', 'format of the messages').choices([...exchangeFormats])
  return command
    .addOption(format.makeOptionMandatory())
    .requiredOption(
      '--thread <thread>',
      'id or #number of one of its messages; with --owner its name, such as web:["desk","thread-1"]',
    )
    .option('--owner <owner>', 'owner of a conversation of the chat or a store: web:["<issuer>","<subject>"]')
}

/** Conversations out and in. */
export function addTranscriptCommands(program: Command, { output }: CommandContext): void {
  withPlace(program.command('export'))
    .description('print a conversation in one of the formats of the transcript')
    .action(async (options: TranscriptRequest) => (await loadView()).exportTranscript(output({}), options))
  withPlace(program.command('import <path>'))
    .description('add messages to a conversation, from a file or from standard input (-)')
    .option('--json', 'print JSON, for programs')
    .action(async (path: string, options: TranscriptRequest & CommonOptions) =>
      (await loadView()).importTranscript(output(options), { ...options, path }),
    )
}
