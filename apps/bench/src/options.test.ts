import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { jobs, parseOptions } from './options.ts'

test('parseOptions() measures everything unless told otherwise', () => {
  expect(parseOptions([])).toEqual({
    only: jobs.filter(
      job => job !== 'calls' && job !== 'tasks' && job !== 'postgres' && job !== 'postgres-far' && job !== 'mixed',
    ),
    rounds: 5,
    seconds: 3,
    quick: false,
    full: false,
    against: undefined,
    profile: undefined,
    json: false,
    help: false,
  })
  expect(parseOptions(['--only', 'mail', '--only', 'start', '--rounds', '2', '--seconds', '0.5'])).toMatchObject({
    only: ['mail', 'start'],
    rounds: 2,
    seconds: 0.5,
  })
})

test('parseOptions() takes fewer rounds for a quick look, unless told how many', () => {
  expect(parseOptions(['--quick'])).toMatchObject({ quick: true, rounds: 2, seconds: 1 })
  expect(parseOptions(['--quick', '--rounds', '3'])).toMatchObject({ quick: true, rounds: 3, seconds: 1 })
})

test('parseOptions() measures against a commit what that commit can do', () => {
  const { only, against } = parseOptions(['--against', 'HEAD~3'])
  expect(against).toBe('HEAD~3')
  expect(only).toContain('start')
  expect(only).not.toContain('growth')
  expect(parseOptions(['--against', 'HEAD~3', '--only', 'mail']).only).toEqual(['mail'])
})

test.each([
  [
    ['--only', 'gopher'],
    '--only "gopher" is not one of activitypub, a2a, stream, web, mail, maillarge, mailout, stall, flood, memory, growth, fanout, transcript, start, calls, tasks, postgres, postgres-far, mixed',
  ],
  [
    ['--only', 'stall', '--against', 'HEAD~3'],
    '--only "stall" cannot be measured --against a commit; activitypub, a2a, stream, web, mail, maillarge, mailout, fanout, start can',
  ],
  [['--rounds', 'many'], '--rounds "many" is not a positive number'],
  [['--seconds', '0'], '--seconds "0" is not a positive number'],
])('parseOptions() refuses %j', (argv, message) => {
  expect(() => parseOptions(argv)).toThrow(new TypeError(message))
})

test('a bench prints its help and ends', () => {
  const main = fileURLToPath(new URL('./main.ts', import.meta.url))
  const { status, stdout } = spawnSync(process.execPath, [main, '--help'], { encoding: 'utf8', timeout: 30_000 })
  expect(stdout).toContain('--only <job>')
  expect(status).toBe(0)
}, 60_000)
