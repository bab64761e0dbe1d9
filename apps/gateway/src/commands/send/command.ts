import type { Command } from 'commander'
import type { CommandContext, CommonOptions } from '../context.ts'

interface SendOptions extends CommonOptions {
  readonly via?: string
  readonly to: string
  readonly from?: string
  readonly visibility?: string
  readonly fault?: string
  readonly thread?: string
  readonly list?: true
}

const loadView = () => import('./view.ts')

/** Tries the gateway from the simulation. */
export function addSendCommand(program: Command, { output }: CommandContext): void {
  program
    .command('send')
    .description('send a signed message from the simulation and wait for the answer (dev mode)')
    .argument('[text]')
    .option('--via <channel>', 'channel: activitypub, a2a or email')
    .option('--to <agent>', 'name of an agent here', 'echo')
    .option('--from <persona>', 'who sends it: one of --list; default: the first of the channel')
    .option('--visibility <visibility>', 'of a post: public, unlisted, followers or direct')
    .option('--fault <fault>', 'what is wrong about it: one of --list')
    .option('--thread <id>', 'id of an earlier message, to continue its conversation')
    .option('--list', 'list personas, visibilities and faults, and what each leads to')
    .option('--json', 'print JSON, for programs')
    .action(async (text: string | undefined, { list, json, ...options }: SendOptions) =>
      list
        ? (await loadView()).printCatalogue(output({ json: json === true }), options)
        : (await loadView()).sendSimulated(output({ json: json === true }), { ...options, text }),
    )
}
