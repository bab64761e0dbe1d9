// Runs the command line `postern`.
import { existsSync } from 'node:fs'
import { ConfigError, Rejection } from '@postern/message/errors'
import type { ApiAccess, CommonOptions } from '@postern/operator/commands'
import {
  addActionCommands,
  addAgentCommands,
  addApprovalCommands,
  addBackupCommands,
  addBanCommands,
  addDoctorCommand,
  addFollowerCommands,
  addKeyCommands,
  addMcpCommand,
  addMessageCommands,
  addPeopleCommands,
  addPruneCommand,
  addQuestionCommands,
  addReplayCommand,
  addRequirementCommands,
  addResolveCommand,
  addSendCommand,
  addSuppressionCommands,
  addSwarmUsageCommand,
  addTranscriptCommands,
  addWhyCommand,
  CommandError,
} from '@postern/operator/commands'
import { toTerminalOutput } from '@postern/operator/terminal'
import { Command } from 'commander'
import { addInitCommand } from './init/command.ts'
import type { SecretMask } from './masking/secret-mask.ts'
import { createSecretMask } from './masking/secret-mask.ts'
import { addConfigCommand, addRunningCommands } from './running/command.ts'
import type { GatewayCommandContext } from './running/context.ts'
import { softwareVersion } from './system/version.ts'

/** Runs one command. Errors go to standard error, and set exit code 1. */
export async function runPostern(argv: readonly string[]): Promise<void> {
  const mask = createSecretMask()
  try {
    readEnvironmentFile()
    const program = createProgram(mask)
    exitOnClosedPipe(program)
    await program.parseAsync([...argv])
  } catch (error) {
    process.stderr.write(`${toTerminalOutput(mask.hideIn(describeForTerminal(error)))}\n`)
    process.exitCode = 1
  }
}

/** Ends a command silently when its reader has closed the pipe (`postern messages | head -1`). A running gateway continues. */
function exitOnClosedPipe(program: Command): void {
  let isServing = false
  program.hook('preAction', (_, command) => {
    isServing = ['dev', 'start'].includes(command.name())
  })
  const onError = (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
    if (!isServing) process.exit()
  }
  for (const output of [process.stdout, process.stderr]) output.on('error', onError)
}

/** Reads `.env` of the working directory. Variables that are already set keep their values. */
function readEnvironmentFile(): void {
  if (existsSync('.env')) process.loadEnvFile('.env')
}

/** The commands in the order of `--help`. */
const commandGroups = [
  addInitCommand,
  addRunningCommands,
  addSendCommand,
  addDoctorCommand,
  addResolveCommand,
  addConfigCommand,
  addBackupCommands,
  addAgentCommands,
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
  addPruneCommand,
  addTranscriptCommands,
  addMcpCommand,
]

/** Declares all commands and runs none. `mask` hides the secrets of the configuration that they read. */
export function createProgram(mask = createSecretMask()): Command {
  const program = new Command('postern')
    .version(softwareVersion)
    .description('One address for an agent: the fediverse, other agents, mail and a chat; every sender proven')
  program.option('-c, --config <file>', 'configuration file (default: postern.config.ts, .js or .json here)')
  program.option('--url <address>', 'ask the gateway at this address and read no configuration (or POSTERN_URL)')
  program.option(
    '--token <token>',
    'operator token for --url; safer in POSTERN_OPERATOR_TOKEN, because other users can see arguments',
  )
  const context = createContext(() => program.opts<CommonOptions>(), mask)
  for (const addCommands of commandGroups) addCommands(program, context)
  return program
}

/** The longest list of agents in the address of a request, characters. Servers refuse long addresses. */
const maxListedChars = 4_000

/** Describes the agents of the file to the gateway: by their names, or by a digest of very many names. */
async function describeAgents(names: readonly string[]) {
  const agents = names.join()
  if (agents.length <= maxListedChars) return { agents }
  const { digestAgentNames } = await import('@postern/operator/doctor')
  return { agents_digest: digestAgentNames(names) }
}

function createContext(readOptions: () => CommonOptions, mask: SecretMask): GatewayCommandContext {
  const configPath = () => readOptions().config
  // These modules load when a command needs them, so that `--help` and `--version` answer without the gateway.
  const readFile = async () => {
    const { readConfigFile } = await import('./config/read-config.ts')
    const { listSecretTexts } = await import('./masking/secret-settings.ts')
    const file = await readConfigFile({ path: configPath(), environment: process.env, workingDir: process.cwd() })
    mask.addSecrets(listSecretTexts(file))
    return file
  }
  const access: ApiAccess = {
    async openClient() {
      const { findRemoteGateway, openRemoteClient } = await import('@postern/operator/client')
      const remote = findRemoteGateway({ options: readOptions(), environment: process.env })
      if (remote) return openRemoteClient(remote)
      return (await import('./running/operator-client.ts')).openOperatorClient(await readFile())
    },
  }
  const print = (text: string) => writeLine(toTerminalOutput(mask.hideIn(text)))
  const printStyled = (text: string) => writeLine(mask.hideIn(text))
  return {
    ...access,
    version: softwareVersion,
    async loadChannels() {
      const { channelModules, resolveChannelAlias } = await import('./channels.ts')
      return { list: channelModules, resolveAlias: resolveChannelAlias }
    },
    configPath,
    readFile,
    findData: async () => (await import('./running/operator-client.ts')).findDataLocation(await readFile()),
    async describeFile() {
      const { findRemoteGateway } = await import('@postern/operator/client')
      if (findRemoteGateway({ options: readOptions(), environment: process.env })) return {}
      const { origin, agents } = await readFile().then(
        ({ tree }) => tree,
        () => ({ origin: undefined, agents: undefined }),
      )
      const names = typeof agents === 'object' && agents !== null ? Object.keys(agents) : []
      return {
        ...(typeof origin === 'string' && { origin: origin.replace(/\/$/, '') }),
        ...(names.length > 0 && (await describeAgents(names))),
      }
    },
    async examineUnopened(fault, groups) {
      const { examineUnopenedGateway } = await import('./running/unopened-doctor.ts')
      return examineUnopenedGateway({ openError: fault, groups, readFile })
    },
    output: options => ({ ...access, json: options.json === true, ...describeScreen(), print, printStyled }),
    print,
  }
}

/** Describes the terminal. The width is 80 columns if the output is no terminal. Colours are for terminals without `NO_COLOR` (no-color.org). */
function describeScreen(): { readonly columns: number; readonly hasColour: boolean } {
  const { isTTY, columns = 80 } = process.stdout
  return { columns: isTTY ? Math.max(40, columns) : 80, hasColour: isTTY === true && !process.env.NO_COLOR }
}

function writeLine(text: string): void {
  process.stdout.write(`${text}\n`)
}

/** Describes an error that a person can fix by its sentences, and any other with its stack. */
function describeForTerminal(error: unknown): string {
  if (error instanceof AggregateError)
    return [`${error.message}:`, ...error.errors.map(fault => `  ${describeForTerminal(fault)}`)].join('\n')
  if ([ConfigError, CommandError, Rejection].some(kind => error instanceof kind)) return (error as Error).message
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}
