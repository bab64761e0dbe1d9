import type { Command } from 'commander'
import type { CommandContext } from '../context.ts'
import type { GivenAnswers } from './questions.ts'

/** Begins a project. */
export function addInitCommand(program: Command, { print }: Pick<CommandContext, 'print'>): void {
  program
    .command('init [folder]')
    .description('write a new project: configuration, an agent, its test; overwrites nothing')
    .option('--agent <name>', 'name of the first agent; asked for at a terminal, else desk')
    .option('--origin <url>', 'where the gateway will be reached; asked for at a terminal, else https://agents.example')
    .action(async (folder: string | undefined, options: GivenAnswers) => {
      const { initProject } = await import('./view.ts')
      await initProject(folder ?? '.', options, { print })
    })
}
