import type { PostOptions } from '@postern/core'
import { ConfigError, visibilities } from '@postern/core'
import { exchangeFormats } from '@postern/transcript'
import { Argument, Command, Option } from 'commander'
import { formatBanner } from './cli/banner.ts'
import { liftBan, printBans } from './cli/bans.ts'
import type { Output } from './cli/commands.ts'
import {
  changeDelivery,
  printDeliveries,
  printKeys,
  printMessage,
  printMessages,
  rotateKeys,
  sendSimulated,
} from './cli/commands.ts'
import { printConfig } from './cli/config-print.ts'
import { decideListedDemand, printDemands } from './cli/demands.ts'
import { printDoctor } from './cli/doctor.ts'
import { decideFollowRequest, printFollowers } from './cli/followers.ts'
import { CommandError } from './cli/operator-client.ts'
import { answerQuestion, printQuestions } from './cli/operators.ts'
import { forgetOwner, forgetPerson, printPeople } from './cli/people.ts'
import { performAct } from './cli/post.ts'
import { printResolved } from './cli/resolve.ts'
import { runDev, runProduction } from './cli/run.ts'
import { liftSuppression, printSuppressions } from './cli/suppressions.ts'
import type { TranscriptRequest } from './cli/transcript.ts'
import { exportTranscript, importTranscript } from './cli/transcript.ts'
import { readConfigFile } from './config/read-config.ts'
import { softwareVersion } from './version.ts'

interface CommonOptions {
  readonly config?: string
  readonly json?: boolean
}

/** The command line (`interface.md`, Commands). */
export async function runPostern(argv: readonly string[]): Promise<void> {
  try {
    await createProgram().parseAsync([...argv])
  } catch (error) {
    process.stderr.write(`${describeForTerminal(error)}\n`)
    process.exitCode = 1
  }
}

function createProgram(): Command {
  const program = new Command('postern')
    .version(softwareVersion)
    .description('One address for an agent: the fediverse, other agents, mail and a chat; every sender proven')
  program.option('-c, --config <file>', 'configuration file (default: postern.config.ts, .js or .json here)')
  const file = () =>
    readConfigFile({ path: program.opts<CommonOptions>().config, environment: process.env, workingDir: process.cwd() })
  const output = (options: CommonOptions): Output => ({
    json: options.json === true,
    print: text => void process.stdout.write(`${text}\n`),
  })

  program
    .command('dev')
    .description('run with a simulated fediverse, mail domain and A2A issuer on this machine')
    .action(async () => print(formatBanner(await runDev(await file()), true, program.opts<CommonOptions>().config)))
  program
    .command('start')
    .description('run for real; refuses unsafe settings')
    .action(async () => print(formatBanner(await runProduction(await file()), false)))
  program
    .command('send')
    .description('send a signed message from the simulated world and wait for the answer (dev mode)')
    .argument('<text>')
    .addOption(
      new Option('--via <protocol>', 'the way it goes').choices(['activitypub', 'a2a', 'email']).makeOptionMandatory(),
    )
    .option('--to <agent>', 'name of an agent here', 'echo')
    .option('--thread <id>', 'the id of an earlier message, to go on with its conversation')
    .option('--json', 'for programs')
    .action(async (text: string, options: CommonOptions & { via: string; to: string; thread?: string }) => {
      const { via, to, thread } = options
      await sendSimulated(await file(), output(options), { via, to, text, thread })
    })
  program
    .command('messages')
    .description('what came in, newest first')
    .option('--limit <n>', 'how many', '20')
    .option('--json', 'for programs')
    .action(async (options: CommonOptions & { limit: string }) =>
      printMessages(await file(), output(options), options.limit),
    )
  program
    .command('show <id>')
    .description('one message: proofs, what the agent saw and said, every delivery')
    .option('--json', 'for programs')
    .action(async (id: string, options: CommonOptions) => printMessage(await file(), output(options), id))
  const deliveries = program.command('deliveries').description('what goes out: list, retry, drop')
  deliveries
    .command('list', { isDefault: true })
    .description('newest first (what is done when no command is named)')
    .addOption(new Option('--state <state>', 'only these').choices(['queued', 'sent', 'later', 'dead']))
    .option('--json', 'for programs')
    .action(async (options: CommonOptions & { state?: string }) =>
      printDeliveries(await file(), output(options), options.state),
    )
  for (const [action, does] of [
    ['retry', 'try it again now'],
    ['drop', 'give it up'],
  ] as const) {
    deliveries
      .command(`${action} <id>`)
      .description(does)
      .action(async (id: string) => changeDelivery(await file(), output({}), action, id))
  }
  const keys = program.command('keys').description('public keys and the DNS records to publish: list, rotate')
  keys
    .command('list', { isDefault: true })
    .description('all of them (what is done when no command is named)')
    .option('--json', 'for programs')
    .action(async (options: CommonOptions) => printKeys(await file(), output(options)))
  keys
    .command('rotate [agent]')
    .description('new keys for one agent, or for all and for mail; the old ones stay published for a while')
    .option('--revoke', 'the old ones are not published any more from now on: somebody else has one')
    .option('--json', 'for programs')
    .action(async (agent: string | undefined, options: CommonOptions & { revoke?: boolean }) =>
      rotateKeys(await file(), output(options), { agent, revoke: options.revoke === true }),
    )
  const followers = program.command('followers').description('who follows an agent, or asks to: list, accept, reject')
  followers
    .command('list <agent>', { isDefault: true })
    .description('who follows it (what is done when no command is named)')
    .option('--pending', 'those who ask and wait')
    .option('--json', 'for programs')
    .action(async (agent: string, options: CommonOptions & { pending?: boolean }) =>
      printFollowers(await file(), output(options), agent, options.pending ? 'pending' : 'follower'),
    )
  for (const [verdict, does] of [
    ['accept', 'let an actor follow who asks to'],
    ['reject', 'refuse an actor who asks to follow'],
  ] as const) {
    followers
      .command(`${verdict} <agent> <actor>`)
      .description(does)
      .action(async (agent: string, peer: string) =>
        decideFollowRequest(await file(), output({}), verdict, { agent, peer }),
      )
  }
  const suppressions = program
    .command('suppressions')
    .description('addresses an agent sends no mail to any more, because it came back or was complained of: list, lift')
  suppressions
    .command('list <agent>', { isDefault: true })
    .description('those of one agent (what is done when no command is named)')
    .option('--json', 'for programs')
    .action(async (agent: string, options: CommonOptions) => printSuppressions(await file(), output(options), agent))
  suppressions
    .command('lift <agent> <address>')
    .description('mail goes there again')
    .action(async (agent: string, peer: string) => liftSuppression(await file(), output({}), { agent, peer }))
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
  const bans = program.command('bans').description('whom the policies of a swarm have banned: list, lift')
  bans
    .command('list <agent>', { isDefault: true })
    .description('those of one agent (what is done when no command is named)')
    .option('--json', 'for programs')
    .action(async (agent: string, options: CommonOptions) => printBans(await file(), output(options), agent))
  bans
    .command('lift <agent> <id>')
    .description('is heard again')
    .action(async (agent: string, id: string) => liftBan(await file(), output({}), { agent, id }))
  const says = (text: string) => [{ kind: 'text', mime: 'text/markdown', content: text } as const]
  program
    .command('post <agent> <text>')
    .description('let an agent post to those who follow it; prints the id of the post')
    .addOption(new Option('--visibility <who>', 'who may read it').choices(visibilities).default('public'))
    .option('--subject <text>', 'a content warning')
    .option('--mention <address...>', 'whom it speaks to, as @name@domain')
    .option('--json', 'for programs')
    .action(async (agent: string, text: string, options: CommonOptions & PostOptions & { mention?: string[] }) => {
      const { visibility, subject, mention } = options
      const details = { visibility, subject, mentions: mention }
      await performAct(await file(), output(options), agent, { act: 'post', parts: says(text), ...details })
    })
  program
    .command('edit <agent> <id> <text>')
    .description('other words for a post or an answer of an agent')
    .action(async (agent: string, response: string, text: string) =>
      performAct(await file(), output({}), agent, { act: 'edit', response, parts: says(text) }),
    )
  program
    .command('unpost <agent> <id>')
    .description('take back a post or an answer of an agent')
    .action(async (agent: string, response: string) =>
      performAct(await file(), output({}), agent, { act: 'delete', response }),
    )
  program
    .command('doctor')
    .description('check this installation, each finding with its mend')
    .option('--json', 'for programs')
    .action(async (options: CommonOptions) => printDoctor(await file(), output(options)))
  program
    .command('people')
    .description('which addresses people have linked, and by which messages they proved it')
    .option('--agent <name>', 'only with this agent')
    .option('--json', 'for programs')
    .action(async (options: CommonOptions & { agent?: string }) =>
      printPeople(await file(), output(options), options.agent),
    )
  program
    .command('forget <address>')
    .description(
      'delete all there is of a person: messages, answers, links; of all addresses that are linked with this one',
    )
    .option('--agent <name>', 'only what this agent was told; default: all agents')
    .option('--json', 'for programs')
    .action(async (address: string, options: CommonOptions & { agent?: string }) =>
      address.startsWith('web:')
        ? forgetOwner(await file(), output(options), address)
        : forgetPerson(await file(), output(options), { address, agent: options.agent }),
    )
  program
    .command('export')
    .description('a conversation in one of the formats of the transcript')
    .addOption(new Option('--format <format>', 'of the messages').choices([...exchangeFormats]).makeOptionMandatory())
    .requiredOption(
      '--thread <thread>',
      'the id of one of its messages, or #number; with --owner its name, such as web:["desk","thread-1"]',
    )
    .option('--owner <owner>', 'whose thread, where it is one of the chat or a store: web:["<issuer>","<subject>"]')
    .action(async (options: TranscriptRequest) => exportTranscript(await file(), output({}), options))
  program
    .command('import <path>')
    .description('messages of a format into a conversation, from a file or - for standard input; what is there stays')
    .addOption(new Option('--format <format>', 'of the messages').choices([...exchangeFormats]).makeOptionMandatory())
    .requiredOption(
      '--thread <thread>',
      'the id of one of its messages, or #number; with --owner its name, such as web:["desk","thread-1"]',
    )
    .option('--owner <owner>', 'whose thread, where it is one of the chat or a store: web:["<issuer>","<subject>"]')
    .option('--json', 'for programs')
    .action(async (path: string, options: TranscriptRequest & CommonOptions) =>
      importTranscript(await file(), output(options), { ...options, path }),
    )
  program
    .command('resolve <address>')
    .description('what a peer finds behind an address, and what is wrong with it; exit code 1: faults, 2: not found')
    .option('--json', 'for programs')
    .action(async (address: string, options: CommonOptions) => printResolved(await file(), output(options), address))
  program
    .command('config')
    .description('print: the configuration as it is understood, secrets masked')
    .addArgument(new Argument('<what>').choices(['print']))
    .option('--json', 'for programs')
    .action(async (_: string, options: CommonOptions) => printConfig(await file(), output(options)))
  return program
}

function print(text: string): void {
  process.stdout.write(`${text}\n`)
}

/** Faults a person can mend are sentences; anything else keeps its stack. */
function describeForTerminal(error: unknown): string {
  if (error instanceof AggregateError)
    return [`${error.message}:`, ...error.errors.map(fault => `  ${describeForTerminal(fault)}`)].join('\n')
  if (error instanceof ConfigError || error instanceof CommandError) return error.message
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}
