// Declares the commands `backup` and `restore`.
import type { Command } from 'commander'
import type { CommandContext, CommonOptions } from '../context.ts'
import type { RestoreOptions } from './view.ts'

const loadView = () => import('./view.ts')

export function addBackupCommands(program: Command, { findData, output }: CommandContext): void {
  program
    .command('backup <folder>')
    .description('copy the database, its keys and its files to a new folder, while the gateway runs')
    .option('--json', 'print the manifest as JSON, for programs')
    .action(async (folder: string, options: CommonOptions) => {
      const { backUp } = await loadView()
      await backUp(await findData(), output(options), folder)
    })
  program
    .command('restore <folder>')
    .description('put a backup in the data folder; the gateway must not run')
    .option('--check', 'only check that the backup is complete')
    .option('--replace', 'move an existing database aside')
    .option('--json', 'print the manifest as JSON, for programs')
    .action(async (folder: string, options: CommonOptions & RestoreOptions) => {
      const { restore } = await loadView()
      await restore(await findData(), output(options), { ...options, folder })
    })
}
