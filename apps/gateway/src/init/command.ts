// Declares the command `init`.

import type { CommandContext } from '@postern/operator/commands'
import type { Command } from 'commander'
import type { AnswersFromFlags } from './project.ts'

export function addInitCommand(program: Command, { print }: Pick<CommandContext, 'print'>): void {
  program
    .command('init [folder]')
    .description('write a new project: configuration, an agent, its test; overwrites nothing')
    .option('--agent <name>', 'name of the first agent; at a terminal the command asks for it, else "desk"')
    .option(
      '--origin <url>',
      'public address of the gateway; at a terminal the command asks for it, else https://agents.example',
    )
    .action(async (folder: string | undefined, options: AnswersFromFlags) => {
      const { initProject } = await import('./init-project.ts')
      await initProject(folder ?? '.', options, { print })
    })
}
