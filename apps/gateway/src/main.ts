import { ConfigError } from '@postern/core'
import { Command } from 'commander'
import { CommandError } from './cli/operator-client.ts'
import { readConfigFile } from './config/read-config.ts'
import { addActionCommands } from './program/actions.ts'
import type { CommandContext, CommonOptions } from './program/command-context.ts'
import { addDecisionCommands } from './program/decisions.ts'
import { addKeyCommands } from './program/keys.ts'
import { addMessageCommands } from './program/messages.ts'
import { addPeerCommands } from './program/peers.ts'
import { addPeopleCommands } from './program/people.ts'
import { addRunningCommands } from './program/running.ts'
import { addTranscriptCommands } from './program/transcript.ts'
import { toTerminalOutput } from './terminal-text.ts'
import { softwareVersion } from './version.ts'

/** The command line. */
export async function runPostern(argv: readonly string[]): Promise<void> {
  try {
    await createProgram().parseAsync([...argv])
  } catch (error) {
    process.stderr.write(`${toTerminalOutput(describeForTerminal(error))}\n`)
    process.exitCode = 1
  }
}

/** In the order in which `--help` lists them. */
const commandGroups = [
  addRunningCommands,
  addMessageCommands,
  addKeyCommands,
  addPeerCommands,
  addDecisionCommands,
  addActionCommands,
  addPeopleCommands,
  addTranscriptCommands,
]

function createProgram(): Command {
  const program = new Command('postern')
    .version(softwareVersion)
    .description('One address for an agent: the fediverse, other agents, mail and a chat; every sender proven')
  program.option('-c, --config <file>', 'configuration file (default: postern.config.ts, .js or .json here)')
  const context = createContext(() => program.opts<CommonOptions>().config)
  for (const addCommands of commandGroups) addCommands(program, context)
  return program
}

function createContext(configPath: CommandContext['configPath']): CommandContext {
  return {
    configPath,
    file: () => readConfigFile({ path: configPath(), environment: process.env, workingDir: process.cwd() }),
    output: options => ({ json: options.json === true, print }),
    print,
  }
}

function print(text: string): void {
  process.stdout.write(`${toTerminalOutput(text)}\n`)
}

/** Faults a person can fix are sentences; anything else keeps its stack. */
function describeForTerminal(error: unknown): string {
  if (error instanceof AggregateError)
    return [`${error.message}:`, ...error.errors.map(fault => `  ${describeForTerminal(fault)}`)].join('\n')
  if (error instanceof ConfigError || error instanceof CommandError) return error.message
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}
