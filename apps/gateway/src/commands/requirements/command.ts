import { rememberScopes } from '@postern/core'
import type { Command } from 'commander'
import { Option } from 'commander'
import type { CommandContext, CommonOptions } from '../context.ts'

const loadView = () => import('./view.ts')

const describeReach = () =>
  new Option('--remember <reach>', 'let the decision count for later calls of the tool by the same sender').choices([
    ...rememberScopes,
  ])

/** What agents wait for. */
export function addRequirementCommands(program: Command, { openClient, output }: CommandContext): void {
  const requirements = program.command('requirements').description('what agents wait for: list, show, grant, decline')
  requirements
    .command('list', { isDefault: true })
    .description('list the requirements, newest first (default)')
    .addOption(
      new Option('--status <status>', 'only requirements with this status').choices([
        'open',
        'granted',
        'declined',
        'expired',
      ]),
    )
    .option('--mine', 'only requirements that you decide')
    .option('--json', 'print JSON, for programs')
    .action(async (options: CommonOptions & { status?: string; mine?: boolean }) => {
      const { status, mine = false } = options
      await (await loadView()).printRequirements(openClient, output(options), { status, isMine: mine })
    })
  requirements
    .command('show <id>')
    .description('show one requirement, with the arguments of the call it is about')
    .option('--json', 'print JSON, for programs')
    .action(async (id: string, options: CommonOptions) =>
      (await loadView()).printRequirement(openClient, output(options), id),
    )
  requirements
    .command('grant <id>')
    .description('grant a requirement: allow a call, or confirm a payment or an identity')
    .option('--arguments <json>', 'run the call with these arguments instead')
    .addOption(describeReach())
    .action(async (id: string, { arguments: args, remember }: { arguments?: string; remember?: string }) => {
      await (await loadView()).decideListedRequirement(openClient, output({}), {
        id,
        outcome: 'granted',
        args,
        remember,
      })
    })
  requirements
    .command('decline <id>')
    .description('decline a requirement, yours or the sender\u2019s')
    .addOption(describeReach())
    .action(async (id: string, { remember }: { remember?: string }) =>
      (await loadView()).decideListedRequirement(openClient, output({}), { id, outcome: 'declined', remember }),
    )
}
