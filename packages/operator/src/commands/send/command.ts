// Declares the command `send`.
import { parseDuration } from '@postern/message'
import { InvalidArgumentError } from 'commander'
import { declareCommand } from '../declare.ts'

/** Parses a time such as `30s` or `2m` to seconds. @throws InvalidArgumentError */
function parseTimeout(text: string): number {
  if (/^[1-9]\d{0,4}[smhd]$/.test(text)) return parseDuration(text) / 1000
  throw new InvalidArgumentError('It must be a number and a unit, like 30s or 2m.')
}

function addFile(path: string, earlierPaths: readonly string[] = []): readonly string[] {
  return [...earlierPaths, path]
}

export const addSendCommand = declareCommand({
  name: 'send',
  arguments: '[text]',
  description: 'send a signed message from the simulation and wait for the answer (dev mode)',
  options: {
    '--via <channel>': 'channel: activitypub, a2a, email or web (also called chat)',
    '--to <agent>': { description: 'name of an agent here', defaultValue: 'echo' },
    '--from <persona>': 'sender: one of --list; default: the first of the channel',
    '--file <path>': { description: 'a file to attach; repeat the option for more files', parse: addFile },
    '--visibility <visibility>': 'of a post: public, unlisted, followers or direct',
    '--fault <fault>': 'a fault of the message: one of --list',
    '--thread <id>': 'id of an earlier message, to continue its conversation',
    '--timeout <time>': {
      description: 'longest wait for the answer, such as 30s; default: the deadline of the agent',
      parse: parseTimeout,
    },
    '--list': 'list personas, visibilities and faults, with the expected result of each',
  },
  hasJson: true,
  load: async () => (await import('./view.ts')).runSend,
})
