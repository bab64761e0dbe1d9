import type { Command } from 'commander'
import type { CommandContext, CommonOptions } from '../context.ts'

/** Checks the installation. */
export function addDoctorCommand(program: Command, { openConfigured, output }: CommandContext): void {
  program
    .command('doctor')
    .description('check this installation, each finding with its fix')
    .option('--json', 'print JSON, for programs')
    .action(async (options: CommonOptions) => {
      const { printDoctor } = await import('./view.ts')
      await printDoctor(openConfigured, output(options))
    })
}
