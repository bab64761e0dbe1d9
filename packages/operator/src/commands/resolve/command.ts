// Declares the command `resolve`.
import type { Command } from 'commander'
import type { CommandContext, CommonOptions } from '../context.ts'

export function addResolveCommand(program: Command, { output }: CommandContext): void {
  program
    .command('resolve <address>')
    .description('show what a peer finds behind an address, and its faults; exit code 1: faults, 2: not found')
    .option('--json', 'print JSON, for programs')
    .action(async (address: string, options: CommonOptions) =>
      (await import('./view.ts')).printResolved(output(options), address),
    )
}
