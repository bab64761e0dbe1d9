import type { RememberScope } from '@postern/core'
import { rememberScopes } from '@postern/core'
import type { Command } from 'commander'
import { Option } from 'commander'
import type { CommandContext, CommonOptions } from '../context.ts'
import type { RequirementState } from './states.ts'
import { requirementStates } from './states.ts'

type RequirementOptions = CommonOptions & { state?: RequirementState; agent?: string; mine?: true }

const loadView = () => import('./view.ts')

const describeReach = () =>
  new Option('--remember <reach>', 'let the decision count for later calls of the tool by the same sender').choices([
    ...rememberScopes,
  ])

/** What agents wait for. */
export function addRequirementCommands(program: Command, { output }: CommandContext): void {
  const requirements = program.command('requirements').description('what agents wait for: list, show, grant, decline')
  requirements
    .command('list', { isDefault: true })
    .description('list the requirements, newest first (default)')
    .addOption(new Option('--state <state>', 'only requirements in this state').choices([...requirementStates]))
    .option('--agent <name>', 'only requirements of this agent')
    .option('--mine', 'only requirements that you decide')
    .option('--json', 'print JSON, for programs')
    .action(async ({ json, mine, ...filter }: RequirementOptions) => {
      const query = { ...filter, ...(mine && { approver: 'operator' as const }) }
      await (await loadView()).printRequirements(output({ json: json === true }), query)
    })
  requirements
    .command('show <id>')
    .description('show one requirement, with the arguments of the call it is about')
    .option('--json', 'print JSON, for programs')
    .action(async (id: string, options: CommonOptions) => (await loadView()).printRequirement(output(options), id))
  requirements
    .command('grant <id>')
    .description('grant a requirement: allow a call, or confirm a payment or an identity')
    .option('--arguments <json>', 'run the call with these arguments instead')
    .addOption(describeReach())
    .action(async (id: string, { arguments: args, remember }: { arguments?: string; remember?: RememberScope }) => {
      await (await loadView()).decideListedRequirement(output({}), {
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
    .action(async (id: string, { remember }: { remember?: RememberScope }) =>
      (await loadView()).decideListedRequirement(output({}), { id, outcome: 'declined', remember }),
    )
}
