import type { Command } from 'commander'
import { Argument, Option } from 'commander'
import { formatBanner } from '../cli/banner.ts'
import { sendSimulated } from '../cli/commands.ts'
import { printConfig } from '../cli/config-print.ts'
import { printDoctor } from '../cli/doctor.ts'
import { printResolved } from '../cli/resolve.ts'
import { runDev, runProduction } from '../cli/run.ts'
import type { CommandContext, CommonOptions } from './command-context.ts'

/** Runs the gateway, tries it and checks it. */
export function addRunningCommands(program: Command, { file, output, print, configPath }: CommandContext): void {
  program
    .command('dev')
    .description('run with a simulated fediverse, mail domain and A2A issuer on this machine')
    .action(async () => print(formatBanner(await runDev(await file()), true, configPath())))
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
    .command('doctor')
    .description('check this installation, each finding with its fix')
    .option('--json', 'for programs')
    .action(async (options: CommonOptions) => printDoctor(await file(), output(options)))
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
}
