import type { Command } from 'commander'
import type { CommandContext, CommonOptions } from '../context.ts'
import { sendSimulated } from './view.ts'

/** Tries the gateway from the simulation. */
export function addSendCommand(program: Command, { openClient, output }: CommandContext): void {
  program
    .command('send')
    .description('send a signed message from the simulation and wait for the answer (dev mode)')
    .argument('<text>')
    .requiredOption('--via <channel>', 'channel: activitypub, a2a or email')
    .option('--to <agent>', 'name of an agent here', 'echo')
    .option('--thread <id>', 'id of an earlier message, to continue its conversation')
    .option('--json', 'print JSON, for programs')
    .action(async (text: string, options: CommonOptions & { via: string; to: string; thread?: string }) => {
      const { via, to, thread } = options
      await sendSimulated(openClient, output(options), { via, to, text, thread })
    })
}
