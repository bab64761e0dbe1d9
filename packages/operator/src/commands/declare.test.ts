import { Command } from 'commander'
import { expect, test } from 'vitest'
import type { ScreenOutput } from './context.ts'
import type { AddCommands } from './declare.ts'
import { declareCommand, declareGroup } from './declare.ts'

const calls: unknown[] = []
const view = async ({ json }: ScreenOutput, input: object) => void calls.push({ json, ...input })

/** Runs a command line with only these commands; resolves with the input that their views got. */
async function run(add: AddCommands, ...args: readonly string[]): Promise<readonly unknown[]> {
  calls.length = 0
  const program = new Command('postern').exitOverride().configureOutput({ writeErr: () => undefined })
  add(program, { output: ({ json }) => ({ json }) as ScreenOutput })
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

test.each([
  [prune, ['prune'], { json: false }],
  [prune, ['prune', '--dry-run', '--json'], { json: true, dry_run: true }],
  [prune, ['prune', '--state', 'old'], { json: false, state: 'old' }],
  [bans, ['bans', 'desk'], { json: false, agent: 'desk' }],
  [bans, ['bans', 'list', 'desk', 'ann', '--json'], { json: true, agent: 'desk', sender: 'ann' }],
  [bans, ['bans', 'lift', 'desk', 'b1'], { json: false, agent: 'desk', id: 'b1' }],
])('a command maps its arguments and options to the API’s names: %#', async (add, texts, expected) => {
  expect(await run(add, ...texts)).toEqual([expected])
})

test.each([
  ['prune', '--state', 'odd'],
  ['prune', '--json=1'],
])('a command refuses an undeclared choice or option: %s %s', async (...argumentList) => {
  await expect(run(prune, ...argumentList)).rejects.toThrow()
})
