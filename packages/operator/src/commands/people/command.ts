// Declares the commands that list linked addresses, forget a person and rewrite the database.
import type { Command } from 'commander'
import type { CommandContext, CommonOptions } from '../context.ts'

const loadView = () => import('./view.ts')

interface ForgetOptions extends CommonOptions {
  readonly agent?: string
  readonly via?: string
  readonly leaveFiles?: true
}

export function addPeopleCommands(program: Command, { output, loadChannels }: CommandContext): void {
  program
    .command('people')
    .description('list the addresses that people have linked, and the messages that proved it')
    .option('--agent <name>', 'only links with this agent')
    .option('--json', 'print JSON, for programs')
    .action(async (options: CommonOptions & { agent?: string }) => {
      const [{ printPeople }, { list }] = await Promise.all([loadView(), loadChannels()])
      await printPeople(output(options), options.agent, list)
    })
  program
    .command('forget <address>')
    .description('delete everything about a person: messages, answers, links, of all addresses linked with this one')
    .option('--agent <name>', 'only from conversations with this agent; default: all agents')
    .option(
      '--via <channel>',
      'only by this channel, such as a2a; default: name@host as a mailbox, an account and a caller',
    )
    .option('--leave-files', 'also delete records of files in a former storage, which you delete there yourself')
    .option('--json', 'print JSON, for programs')
    .action(async (address: string, { json, leaveFiles, ...options }: ForgetOptions) => {
      const { forgetOwner, forgetPerson } = await loadView()
      const screen = output({ json: json === true })
      return address.startsWith('web:')
        ? forgetOwner(screen, { owner: address, leave_files: leaveFiles })
        : forgetPerson(screen, { address, via: options.via, agent: options.agent, leave_files: leaveFiles })
    })
  program
    .command('vacuum')
    .description('rewrite the database, so that it holds no deleted data; the gateway does nothing else meanwhile')
    .action(async () => (await loadView()).rewriteFiles(output({})))
}
