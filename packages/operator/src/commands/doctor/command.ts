// Declares the command `doctor`.
import type { Command } from 'commander'
import type { CommandContext, CommonOptions } from '../context.ts'

export function addDoctorCommand(program: Command, { examineUnopened, describeFile, output }: CommandContext): void {
  program
    .command('doctor')
    .description(
      'check this installation; each finding has its fix. The exit code is 1 if a check fails; warnings do not count',
    )
    .option('--only <groups>', 'check these groups, with commas between them: mail,tls')
    .option('--json', 'print JSON, for programs')
    .action(async (options: CommonOptions & { only?: string }) => {
      const { printDoctor } = await import('./view.ts')
      await printDoctor({ examineUnopened, describeFile }, output(options), options.only)
    })
}
