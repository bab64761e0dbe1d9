// Declares the commands `dev`, `start` and `config`.

import type { CommonOptions } from '@postern/operator/commands'
import type { Command } from 'commander'
import { Argument } from 'commander'
import type { GatewayCommandContext } from './context.ts'

export function addRunningCommands(program: Command, { readFile, print, configPath }: GatewayCommandContext): void {
  program
    .command('dev')
    .description('run with a simulated fediverse, mail domain and A2A issuer on this machine')
    .option('--adopt', 'take over data that another mode or origin wrote')
    .action(async ({ adopt }: AdoptOptions) => {
      const [{ runDev }, { formatBanner }] = await loadGateway()
      print(
        formatBanner(await runDev(await readFile(), { readFile, adopts: adopt }), {
          hasSimulation: true,
          configPath: configPath(),
        }),
      )
    })
  program
    .command('start')
    .description('run on the real network; refuses unsafe settings')
    .option('--adopt', 'take over data that another mode or origin wrote')
    .action(async ({ adopt }: AdoptOptions) => {
      const [{ runProduction }, { formatBanner }] = await loadGateway()
      print(formatBanner(await runProduction(await readFile(), { adopts: adopt }), { hasSimulation: false }))
    })
}

interface AdoptOptions {
  readonly adopt?: boolean
}

/** Loads the gateway, which only the commands that run it need. */
function loadGateway(): Promise<[typeof import('./run.ts'), typeof import('./banner.ts')]> {
  return Promise.all([import('./run.ts'), import('./banner.ts')])
}

export function addConfigCommand(program: Command, { readFile, output }: GatewayCommandContext): void {
  program
    .command('config')
    .description('print the configuration as the gateway understands it, with secrets masked')
    .addArgument(new Argument('<what>').choices(['print']))
    .option('--dev', 'print the configuration that `dev` uses, with the simulated network and dev mode’s own values')
    .option('--json', 'print JSON, for programs')
    .action(async (_: string, { dev, ...options }: CommonOptions & { readonly dev?: boolean }) => {
      const { printConfig, printDevConfig } = await import('./config-print.ts')
      await (dev ? printDevConfig : printConfig)(await readFile(), output(options))
    })
}
