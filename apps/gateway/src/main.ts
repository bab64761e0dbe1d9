import { existsSync } from 'node:fs'
import { ConfigError, Rejection } from '@postern/core/errors'
import { Command } from 'commander'
import { addActionCommands } from './commands/actions/command.ts'
import { addApprovalCommands } from './commands/approvals/command.ts'
import { addBackupCommands } from './commands/backup/command.ts'
import { addBanCommands } from './commands/bans/command.ts'
import type { ApiAccess } from './commands/client.ts'
import { CommandError } from './commands/client.ts'
import type { CommandContext, CommonOptions } from './commands/context.ts'
import { addDoctorCommand } from './commands/doctor/command.ts'
import { addFollowerCommands } from './commands/followers/command.ts'
import { addInitCommand } from './commands/init/command.ts'
import { addKeyCommands } from './commands/keys/command.ts'
import { addMcpCommand } from './commands/mcp/command.ts'
import { addMessageCommands } from './commands/messages/command.ts'
import { addPeopleCommands } from './commands/people/command.ts'
import { addQuestionCommands } from './commands/questions/command.ts'
import { addReplayCommand } from './commands/replay/command.ts'
import { addRequirementCommands } from './commands/requirements/command.ts'
import { addResolveCommand } from './commands/resolve/command.ts'
import { addSendCommand } from './commands/send/command.ts'
import { addSuppressionCommands } from './commands/suppressions/command.ts'
import { addSwarmUsageCommand } from './commands/swarm-usage/command.ts'
import { addTranscriptCommands } from './commands/transcript/command.ts'
import { addWhyCommand } from './commands/why/command.ts'
import { softwareVersion } from './platform/version.ts'
import { addConfigCommand, addRunningCommands } from './running/command.ts'
import { toTerminalOutput } from './terminal/text.ts'

/** The command line. */
export async function runPostern(argv: readonly string[]): Promise<void> {
  try {
    readEnvironmentFile()
    await createProgram().parseAsync([...argv])
  } catch (error) {
    process.stderr.write(`${toTerminalOutput(describeForTerminal(error))}\n`)
    process.exitCode = 1
  }
}

/** Of the folder it is called in. Variables that are set stay as they are. */
function readEnvironmentFile(): void {
  if (existsSync('.env')) process.loadEnvFile('.env')
}

/** In the order in which `--help` lists them. */
const commandGroups = [
  addInitCommand,
  addRunningCommands,
  addSendCommand,
  addDoctorCommand,
  addResolveCommand,
  addConfigCommand,
  addBackupCommands,
  addWhyCommand,
  addMessageCommands,
  addReplayCommand,
  addKeyCommands,
  addFollowerCommands,
  addSuppressionCommands,
  addBanCommands,
  addSwarmUsageCommand,
  addRequirementCommands,
  addApprovalCommands,
  addQuestionCommands,
  addActionCommands,
  addPeopleCommands,
  addTranscriptCommands,
  addMcpCommand,
]

/** All commands; nothing runs yet. */
export function createProgram(): Command {
  const program = new Command('postern')
    .version(softwareVersion)
    .description('One address for an agent: the fediverse, other agents, mail and a chat; every sender proven')
  program.option('-c, --config <file>', 'configuration file (default: postern.config.ts, .js or .json here)')
  program.option('--url <address>', 'ask the gateway at this address and read no configuration (or POSTERN_URL)')
  program.option(
    '--token <token>',
    'operator token for --url; better in POSTERN_OPERATOR_TOKEN, where ps shows it to nobody',
  )
  const context = createContext(() => program.opts<CommonOptions>())
  for (const addCommands of commandGroups) addCommands(program, context)
  return program
}

function createContext(readOptions: () => CommonOptions): CommandContext {
  const configPath = () => readOptions().config
  // Loaded when a command needs them: `--help` and `--version` answer without the gateway.
  const file = async () => {
    const { readConfigFile } = await import('./config/read-config.ts')
    return readConfigFile({ path: configPath(), environment: process.env, workingDir: process.cwd() })
  }
  const access: ApiAccess = {
    async openClient() {
      const { findRemoteGateway, openRemoteClient } = await import('./running/remote-client.ts')
      const remote = findRemoteGateway({ options: readOptions(), environment: process.env })
      if (remote) return openRemoteClient(remote)
      return (await import('./running/operator-client.ts')).openOperatorClient(await file())
    },
  }
  return {
    ...access,
    configPath,
    file,
    findData: async () => (await import('./running/operator-client.ts')).findDataLocation(await file()),
    async examineUnopened(fault, groups) {
      const { examineUnopenedGateway } = await import('./running/unopened-doctor.ts')
      return examineUnopenedGateway({ fault, groups, readFile: file })
    },
    output: options => ({ ...access, json: options.json === true, ...describeScreen(), print, printStyled }),
    print,
  }
}

/** 80 characters where nobody says, as in a file; colours only for people who look, and want them (no-color.org). */
function describeScreen(): { readonly columns: number; readonly hasColour: boolean } {
  const { isTTY, columns = 80 } = process.stdout
  return { columns: isTTY ? Math.max(40, columns) : 80, hasColour: isTTY === true && !process.env.NO_COLOR }
}

function printStyled(text: string): void {
  process.stdout.write(`${text}\n`)
}

function print(text: string): void {
  process.stdout.write(`${toTerminalOutput(text)}\n`)
}

/** Faults a person can fix are sentences; anything else keeps its stack. */
function describeForTerminal(error: unknown): string {
  if (error instanceof AggregateError)
    return [`${error.message}:`, ...error.errors.map(fault => `  ${describeForTerminal(fault)}`)].join('\n')
  if ([ConfigError, CommandError, Rejection].some(kind => error instanceof kind)) return (error as Error).message
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}
