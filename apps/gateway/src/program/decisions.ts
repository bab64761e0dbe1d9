import { rememberScopes } from '@postern/core'
import type { Command } from 'commander'
import { Option } from 'commander'
import { endListed } from '../cli/end-listed.ts'
import { answerQuestion, printQuestions } from '../cli/operators.ts'
import { printRemembered } from '../cli/remembered.ts'
import { decideListedRequirement, printRequirement, printRequirements } from '../cli/requirements.ts'
import type { CommandContext, CommonOptions } from './command-context.ts'

const describeReach = () =>
  new Option('--remember <reach>', 'count it for later calls of the same tool, of the same sender').choices([
    ...rememberScopes,
  ])

/** What waits for somebody’s yes, or for an operator’s words. */
export function addDecisionCommands(program: Command, { file, output }: CommandContext): void {
  const requirements = program.command('requirements').description('what agents wait for: list, show, grant, decline')
  requirements
    .command('list', { isDefault: true })
    .description('newest first (what is done when no command is named)')
    .addOption(new Option('--status <status>', 'only these').choices(['open', 'granted', 'declined', 'expired']))
    .option('--mine', 'only those that you decide')
    .option('--json', 'for programs')
    .action(async (options: CommonOptions & { status?: string; mine?: boolean }) => {
      const { status, mine = false } = options
      await printRequirements(await file(), output(options), { status, isMine: mine })
    })
  requirements
    .command('show <id>')
    .description('one of them, with the arguments of the call it is about')
    .option('--json', 'for programs')
    .action(async (id: string, options: CommonOptions) => printRequirement(await file(), output(options), id))
  requirements
    .command('grant <id>')
    .description('allow what waits for you; or say that somebody has paid, or is who he says')
    .option('--arguments <json>', 'what the call is to run with instead')
    .addOption(describeReach())
    .action(async (id: string, { arguments: args, remember }: { arguments?: string; remember?: string }) => {
      await decideListedRequirement(await file(), output({}), { id, outcome: 'granted', args, remember })
    })
  requirements
    .command('decline <id>')
    .description('say no, also in the sender\u2019s place')
    .addOption(describeReach())
    .action(async (id: string, { remember }: { remember?: string }) =>
      decideListedRequirement(await file(), output({}), { id, outcome: 'declined', remember }),
    )
  const approvals = program.command('approvals').description('what was decided for later calls, too: list, revoke')
  approvals
    .command('list <agent>', { isDefault: true })
    .description('those of one agent, newest first (what is done when no command is named)')
    .option('--json', 'for programs')
    .action(async (agent: string, options: CommonOptions) => printRemembered(await file(), output(options), agent))
  approvals
    .command('revoke <agent> <id>')
    .description('is asked for again')
    .action(async (agent: string, id: string) =>
      endListed(await file(), output({}), { agent, list: 'approvals', id, said: 'revoked' }),
    )
  const operators = program.command('questions').description('what agents ask of you: list, answer')
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
