import { Command } from 'commander'
import { expect, test } from 'vitest'
import type { CommandContext, ScreenOutput } from './context.ts'
import type { AddCommands } from './declare.ts'
import { declareCommand, declareGroup, joinCommands } from './declare.ts'

const calls: unknown[] = []
const view = async ({ json }: ScreenOutput, input: object) => void calls.push({ json, ...input })

/** Runs a command line with only these commands; resolves with the input that their views got. */
async function runCommand(add: AddCommands, ...args: readonly string[]): Promise<readonly unknown[]> {
  calls.length = 0
  const program = new Command('postern').exitOverride().configureOutput({ writeErr: () => undefined })
  add(program, { output: ({ json }) => ({ json }) as ScreenOutput } as CommandContext)
  await program.parseAsync(args, { from: 'user' })
  return [...calls]
}

const prune = declareCommand({
  ...{ name: 'prune', description: 'prune', hasJson: true, load: async () => view },
  options: { '--dry-run': 'only count', '--state <state>': { description: 'one state', choices: ['old', 'new'] } },
})

const bans = declareGroup({
  ...{ name: 'bans', description: 'bans', load: async () => ({ list: view, lift: view }) },
  commands: {
    list: { description: 'list', arguments: '<agent> [sender]', hasJson: true, isDefault: true },
    lift: { description: 'lift', arguments: '<agent> <id>' },
  },
})

const replay = declareCommand({
  ...{ name: 'replay', description: 'replay', load: async () => view },
  arguments: { usage: '[id]', description: 'one message' },
  options: {
    '--format <format>': { description: 'a format', isMandatory: true },
    '--limit <n>': { description: 'a limit', defaultValue: 20, parse: Number },
    '--file <path>': {
      description: 'a file',
      parse: (path, earlierPaths: readonly string[] = []) => [...earlierPaths, path],
    },
  },
})

const topic = joinCommands(prune, replay)

test.each([
  [prune, ['prune'], { json: false }],
  [prune, ['prune', '--dry-run', '--json'], { json: true, dry_run: true }],
  [prune, ['prune', '--state', 'old'], { json: false, state: 'old' }],
  [bans, ['bans', 'desk'], { json: false, agent: 'desk' }],
  [bans, ['bans', 'list', 'desk', 'ann', '--json'], { json: true, agent: 'desk', sender: 'ann' }],
  [bans, ['bans', 'lift', 'desk', 'b1'], { json: false, agent: 'desk', id: 'b1' }],
  [replay, ['replay', '--format', 'csv'], { json: false, format: 'csv', limit: 20 }],
  [topic, ['prune'], { json: false }],
  [topic, ['replay', '3', '--format', 'csv', '--limit', '5'], { json: false, id: '3', format: 'csv', limit: 5 }],
  [
    replay,
    ['replay', '--format', 'csv', '--file', 'a', '--file', 'b'],
    { json: false, format: 'csv', limit: 20, file: ['a', 'b'] },
  ],
])('a command maps its arguments and options to the API’s names: %#', async (add, texts, expected) => {
  expect(await runCommand(add, ...texts)).toEqual([expected])
})

test.each([
  ['prune', '--state', 'odd'],
  ['prune', '--json=1'],
  ['replay', '3'],
])(
  'a command refuses an undeclared choice or option, and a missing mandatory option: %s %s',
  async (...argumentList) => {
    await expect(runCommand(topic, ...argumentList)).rejects.toThrow()
  },
)
