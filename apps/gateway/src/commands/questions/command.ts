import type { Command } from 'commander'
import type { CommandContext, CommonOptions } from '../context.ts'

const loadView = () => import('./view.ts')

/** What agents ask of operators. */
export function addQuestionCommands(program: Command, { output }: CommandContext): void {
  const questions = program.command('questions').description('questions of agents to you: list, answer')
  questions
    .command('list', { isDefault: true })
    .description('list the questions, newest first (default)')
    .option('--json', 'print JSON, for programs')
    .action(async (options: CommonOptions) => (await loadView()).printQuestions(output(options)))
  questions
    .command('answer <id> <text>')
    .description('answer a question')
    .action(async (id: string, text: string) => (await loadView()).answerListedQuestion(output({}), { id, text }))
}
