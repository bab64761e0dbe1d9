import type { Command } from 'commander'
import type { CommandContext, CommonOptions } from '../context.ts'
import { answerListedQuestion, printQuestions } from './view.ts'

/** What agents ask of operators. */
export function addQuestionCommands(program: Command, { openClient, output }: CommandContext): void {
  const questions = program.command('questions').description('what agents ask of you: list, answer')
  questions
    .command('list', { isDefault: true })
    .description('newest first (what is done when no command is named)')
    .option('--json', 'for programs')
    .action(async (options: CommonOptions) => printQuestions(openClient, output(options)))
  questions
    .command('answer <id> <text>')
    .description('what the one who asked is to read')
    .action(async (id: string, text: string) => answerListedQuestion(openClient, output({}), { id, text }))
}
