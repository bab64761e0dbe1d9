import type { Command } from 'commander'
import type { CommandContext } from '../context.ts'
import type { GivenAnswers } from './project.ts'

/** Begins a project. */
export function addInitCommand(program: Command, { print }: Pick<CommandContext, 'print'>): void {
  program
    .command('init [folder]')
    .description('write a new project: configuration, an agent, its test; overwrites nothing')
    .option('--agent <name>', 'name of the first agent; at a terminal the command asks for it, else "desk"')
    .option(
      '--origin <url>',
      'public address of the gateway; at a terminal the command asks for it, else https://agents.example',
    )
    .action(async (folder: string | undefined, options: GivenAnswers) => {
      const { initProject } = await import('./view.ts')
      await initProject(folder ?? '.', options, { print })
    })
}
