import type { Command } from 'commander'
import { Argument } from 'commander'
import type { CommandContext, CommonOptions } from '../commands/context.ts'

/** Runs the gateway. */
export function addRunningCommands(program: Command, { file, print, configPath }: CommandContext): void {
  program
    .command('dev')
    .description('run with a simulated fediverse, mail domain and A2A issuer on this machine')
    .action(async () => {
      const [{ runDev }, { formatBanner }] = await loadGateway()
      print(formatBanner(await runDev(await file(), file), true, configPath()))
    })
  program
    .command('start')
    .description('run for real; refuses unsafe settings')
    .action(async () => {
      const [{ runProduction }, { formatBanner }] = await loadGateway()
      print(formatBanner(await runProduction(await file()), false))
    })
}

/** Only the commands that run a gateway load it. */
function loadGateway(): Promise<[typeof import('./run.ts'), typeof import('./banner.ts')]> {
  return Promise.all([import('./run.ts'), import('./banner.ts')])
}

/** Prints the configuration. */
export function addConfigCommand(program: Command, { file, output }: CommandContext): void {
  program
    .command('config')
    .description('print the configuration as the gateway understands it, with secrets masked')
    .addArgument(new Argument('<what>').choices(['print']))
    .option('--json', 'print JSON, for programs')
    .action(async (_: string, options: CommonOptions) => {
      const { printConfig } = await import('./config-print.ts')
      await printConfig(await file(), output(options))
    })
}
