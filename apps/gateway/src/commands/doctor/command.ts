import type { Command } from 'commander'
import type { CommandContext, CommonOptions } from '../context.ts'
import { printDoctor } from './view.ts'

/** Checks the installation. */
export function addDoctorCommand(program: Command, { openClient, output }: CommandContext): void {
  program
    .command('doctor')
    .description('check this installation, each finding with its fix')
    .option('--json', 'print JSON, for programs')
    .action(async (options: CommonOptions) => printDoctor(openClient, output(options)))
}
