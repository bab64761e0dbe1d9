import type { Command } from 'commander'
import type { CommandContext, CommonOptions } from '../context.ts'

/** The question that operators ask most. */
export function addWhyCommand(program: Command, { output }: CommandContext): void {
  program
    .command('why <id>')
    .description('say why a message, refusal or delivery went as it did: the reason, the evidence, the fix')
    .addHelpText(
      'after',
      '\n<id>: a number (3, "#3"; d3 for a delivery), any id of a peer or of ours, or an address of a sender or agent',
    )
    .option('--json', 'print JSON, for programs')
    .action(async (id: string, options: CommonOptions) => (await import('./view.ts')).printWhy(output(options), id))
}
