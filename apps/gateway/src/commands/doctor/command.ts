import type { Command } from 'commander'
import type { CommandContext, CommonOptions } from '../context.ts'

/** Checks the installation. */
export function addDoctorCommand(program: Command, { examineUnopened, output }: CommandContext): void {
  program
    .command('doctor')
    .description('check this installation, each finding with its fix; exit code 1: something fails (warnings are 0)')
    .option('--only <groups>', 'check these groups, with commas between them: mail,tls')
    .option('--json', 'print JSON, for programs')
    .action(async (options: CommonOptions & { only?: string }) => {
      const { printDoctor } = await import('./view.ts')
      await printDoctor({ examineUnopened }, output(options), options.only)
    })
}
