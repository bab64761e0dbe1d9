// Declares the command `send`.
import { parseDuration } from '@postern/message'
import type { Command } from 'commander'
import { InvalidArgumentError } from 'commander'
import type { CommandContext, CommonOptions } from '../context.ts'

interface SendOptions extends CommonOptions {
  readonly via?: string
  readonly to: string
  readonly from?: string
  readonly visibility?: string
  readonly fault?: string
  readonly thread?: string
  /** The longest wait for the answer, seconds. */
  readonly timeout?: number
  readonly file?: readonly string[]
  readonly list?: true
}

const loadView = () => import('./view.ts')

/** Parses a time such as `30s` or `2m` to seconds. @throws InvalidArgumentError */
function readTimeout(text: string): number {
  if (/^[1-9]\d{0,4}[smhd]$/.test(text)) return parseDuration(text) / 1000
  throw new InvalidArgumentError('It must be a number and a unit, like 30s or 2m.')
}

function addFile(path: string, earlierPaths: readonly string[] = []): readonly string[] {
  return [...earlierPaths, path]
}

export function addSendCommand(program: Command, { output, loadChannels }: CommandContext): void {
  program
    .command('send')
    .description('send a signed message from the simulation and wait for the answer (dev mode)')
    .argument('[text]')
    .option('--via <channel>', 'channel: activitypub, a2a, email or web (also called chat)')
    .option('--to <agent>', 'name of an agent here', 'echo')
    .option('--from <persona>', 'sender: one of --list; default: the first of the channel')
    .option('--file <path>', 'a file to attach; repeat the option for more files', addFile)
    .option('--visibility <visibility>', 'of a post: public, unlisted, followers or direct')
    .option('--fault <fault>', 'a fault of the message: one of --list')
    .option('--thread <id>', 'id of an earlier message, to continue its conversation')
    .option(
      '--timeout <time>',
      'longest wait for the answer, such as 30s; default: the deadline of the agent',
      readTimeout,
    )
    .option('--list', 'list personas, visibilities and faults, with the expected result of each')
    .option('--json', 'print JSON, for programs')
    .action(async (text: string | undefined, { list, json, ...options }: SendOptions) => {
      const [{ printCatalogue, sendSimulated }, { resolveAlias }] = await Promise.all([loadView(), loadChannels()])
      const screen = output({ json: json === true })
      if (list) await printCatalogue(screen, options, resolveAlias)
      else await sendSimulated(screen, { ...options, text }, resolveAlias)
    })
}
