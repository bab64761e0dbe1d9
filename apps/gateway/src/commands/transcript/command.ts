import { exchangeFormats } from '@postern/transcript'
import type { Command } from 'commander'
import { Option } from 'commander'
import type { CommandContext, CommonOptions } from '../context.ts'
import type { TranscriptRequest } from './view.ts'
import { exportTranscript, importTranscript } from './view.ts'

/** Conversations out and in. */
export function addTranscriptCommands(program: Command, { openClient, output }: CommandContext): void {
  program
    .command('export')
    .description('a conversation in one of the formats of the transcript')
    .addOption(new Option('--format <format>', 'of the messages').choices([...exchangeFormats]).makeOptionMandatory())
    .requiredOption(
      '--thread <thread>',
      'the id of one of its messages, or #number; with --owner its name, such as web:["desk","thread-1"]',
    )
    .option('--owner <owner>', 'whose thread, where it is one of the chat or a store: web:["<issuer>","<subject>"]')
    .action(async (options: TranscriptRequest) => exportTranscript(openClient, output({}), options))
  program
    .command('import <path>')
    .description('messages of a format into a conversation, from a file or - for standard input; what is there stays')
    .addOption(new Option('--format <format>', 'of the messages').choices([...exchangeFormats]).makeOptionMandatory())
    .requiredOption(
      '--thread <thread>',
      'the id of one of its messages, or #number; with --owner its name, such as web:["desk","thread-1"]',
    )
    .option('--owner <owner>', 'whose thread, where it is one of the chat or a store: web:["<issuer>","<subject>"]')
    .option('--json', 'for programs')
    .action(async (path: string, options: TranscriptRequest & CommonOptions) =>
      importTranscript(openClient, output(options), { ...options, path }),
    )
}
