import { rememberScopes } from '@postern/core'
import type { Command } from 'commander'
import { Option } from 'commander'
import type { CommandContext, CommonOptions } from '../context.ts'
import { decideListedRequirement, printRequirement, printRequirements } from './view.ts'

const describeReach = () =>
  new Option('--remember <reach>', 'count it for later calls of the same tool, of the same sender').choices([
    ...rememberScopes,
  ])

/** What agents wait for. */
export function addRequirementCommands(program: Command, { openClient, output }: CommandContext): void {
  const requirements = program.command('requirements').description('what agents wait for: list, show, grant, decline')
  requirements
    .command('list', { isDefault: true })
    .description('newest first (what is done when no command is named)')
    .addOption(new Option('--status <status>', 'only these').choices(['open', 'granted', 'declined', 'expired']))
    .option('--mine', 'only those that you decide')
    .option('--json', 'for programs')
    .action(async (options: CommonOptions & { status?: string; mine?: boolean }) => {
      const { status, mine = false } = options
      await printRequirements(openClient, output(options), { status, isMine: mine })
    })
  requirements
    .command('show <id>')
    .description('one of them, with the arguments of the call it is about')
    .option('--json', 'for programs')
    .action(async (id: string, options: CommonOptions) => printRequirement(openClient, output(options), id))
  requirements
    .command('grant <id>')
    .description('allow what waits for you; or say that somebody has paid, or is who he says')
    .option('--arguments <json>', 'what the call is to run with instead')
    .addOption(describeReach())
    .action(async (id: string, { arguments: args, remember }: { arguments?: string; remember?: string }) => {
      await decideListedRequirement(openClient, output({}), { id, outcome: 'granted', args, remember })
    })
  requirements
    .command('decline <id>')
    .description('say no, also in the sender\u2019s place')
    .addOption(describeReach())
    .action(async (id: string, { remember }: { remember?: string }) =>
      decideListedRequirement(openClient, output({}), { id, outcome: 'declined', remember }),
    )
}
