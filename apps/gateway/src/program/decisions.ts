import type { Command } from 'commander'
import { Option } from 'commander'
import { decideListedDemand, printDemands } from '../cli/demands.ts'
import { answerQuestion, printQuestions } from '../cli/operators.ts'
import type { CommandContext, CommonOptions } from './command-context.ts'

/** What waits for somebody’s yes, or for an operator’s words. */
export function addDecisionCommands(program: Command, { file, output }: CommandContext): void {
  const demands = program.command('demands').description('what agents wait for: list, grant, decline')
  demands
    .command('list', { isDefault: true })
    .description('newest first (what is done when no command is named)')
    .addOption(new Option('--status <status>', 'only these').choices(['open', 'granted', 'declined', 'expired']))
    .option('--json', 'for programs')
    .action(async (options: CommonOptions & { status?: string }) =>
      printDemands(await file(), output(options), options.status),
    )
  for (const [verb, outcome, does] of [
    [
      'grant',
      'granted',
      'say that somebody has paid, or is who he says; consent is nobody\u2019s but the sender\u2019s',
    ],
    ['decline', 'declined', 'say no in the sender\u2019s place'],
  ] as const) {
    demands
      .command(`${verb} <id>`)
      .description(does)
      .action(async (id: string) => decideListedDemand(await file(), output({}), { id, outcome }))
  }
  const operators = program.command('operators').description('what agents ask of you: list, answer')
  operators
    .command('list', { isDefault: true })
    .description('newest first (what is done when no command is named)')
    .option('--json', 'for programs')
    .action(async (options: CommonOptions) => printQuestions(await file(), output(options)))
  operators
    .command('answer <id> <text>')
    .description('what the one who asked is to read')
    .action(async (id: string, text: string) => answerQuestion(await file(), output({}), { id, text }))
}
