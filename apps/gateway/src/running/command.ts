import type { Command } from 'commander'
import { Argument } from 'commander'
import type { CommandContext, CommonOptions } from '../commands/context.ts'
import { formatBanner } from './banner.ts'
import { printConfig } from './config-print.ts'
import { runDev, runProduction } from './run.ts'

/** Runs the gateway. */
export function addRunningCommands(program: Command, { file, print, configPath }: CommandContext): void {
  program
    .command('dev')
    .description('run with a simulated fediverse, mail domain and A2A issuer on this machine')
    .action(async () => print(formatBanner(await runDev(await file()), true, configPath())))
  program
    .command('start')
    .description('run for real; refuses unsafe settings')
    .action(async () => print(formatBanner(await runProduction(await file()), false)))
}

/** Prints the configuration. */
export function addConfigCommand(program: Command, { file, output }: CommandContext): void {
  program
    .command('config')
    .description('print the configuration as the gateway understands it, with secrets masked')
    .addArgument(new Argument('<what>').choices(['print']))
    .option('--json', 'print JSON, for programs')
    .action(async (_: string, options: CommonOptions) => printConfig(await file(), output(options)))
}
