import type { Command } from 'commander'
import type { CommandContext, CommonOptions } from '../context.ts'

const loadView = () => import('./view.ts')

/** Linked addresses; forgetting. */
export function addPeopleCommands(program: Command, { output }: CommandContext): void {
  program
    .command('people')
    .description('list the addresses that people have linked, and the messages that proved it')
    .option('--agent <name>', 'only links with this agent')
    .option('--json', 'print JSON, for programs')
    .action(async (options: CommonOptions & { agent?: string }) =>
      (await loadView()).printPeople(output(options), options.agent),
    )
  program
    .command('forget <address>')
    .description(
      'delete all there is of a person: messages, answers, links; of all addresses that are linked with this one',
    )
    .option('--agent <name>', 'only from conversations with this agent; default: all agents')
    .option('--via <channel>', 'channel of the address, as a2a; default: the first one that can link such an address')
    .option('--json', 'print JSON, for programs')
    .action(async (address: string, options: CommonOptions & { agent?: string; via?: string }) =>
      address.startsWith('web:')
        ? (await loadView()).forgetOwner(output(options), address)
        : (await loadView()).forgetPerson(output(options), {
            address,
            via: options.via,
            agent: options.agent,
          }),
    )
  program
    .command('vacuum')
    .description(
      'write the database anew, so that it keeps nothing of deleted data; the gateway does nothing else meanwhile',
    )
    .action(async () => (await loadView()).rewriteFiles(output({})))
}
