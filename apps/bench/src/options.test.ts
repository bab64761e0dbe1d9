import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { jobs, parseOptions } from './options.ts'

const optionalJobs: readonly string[] = ['calls', 'tasks', 'postgres', 'postgres-held', 'postgres-far', 'mixed']

test('parseOptions() selects the default jobs without options', () => {
  expect(parseOptions([])).toEqual({
    only: jobs.filter(job => !optionalJobs.includes(job)),
    warmUp: 40_000,
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

test('parseOptions() uses fewer rounds for --quick, unless the caller sets --rounds', () => {
  expect(parseOptions(['--quick'])).toMatchObject({ quick: true, rounds: 2, seconds: 1, warmUp: 4_000 })
  expect(parseOptions(['--quick', '--rounds', '3'])).toMatchObject({ quick: true, rounds: 3, seconds: 1 })
  expect(parseOptions(['--quick', '--warm-up', '100'])).toMatchObject({ quick: true, warmUp: 100 })
})

test('parseOptions() selects only comparable jobs for --against, unless the caller sets --only', () => {
  const { only, against } = parseOptions(['--against', 'HEAD~3'])
  expect(against).toBe('HEAD~3')
  expect(only).toContain('start')
  expect(only).not.toContain('growth')
  expect(parseOptions(['--against', 'HEAD~3', '--only', 'mail']).only).toEqual(['mail'])
})

test.each([
  [
    ['--only', 'gopher'],
    '--only "gopher" is not one of activitypub, a2a, a2a-20ms, stream, web, mail, maillarge, mailout, stall, flood, memory, growth, fanout, transcript, agents, start, calls, tasks, postgres, postgres-held, postgres-far, mixed',
  ],
  [
    ['--only', 'stall', '--against', 'HEAD~3'],
    '--only "stall" cannot be measured --against a commit; activitypub, a2a, a2a-20ms, stream, web, mail, maillarge, mailout, fanout, start can',
  ],
  [['--rounds', 'many'], '--rounds "many" is not a positive number'],
  [['--seconds', '0'], '--seconds "0" is not a positive number'],
  [['--warm-up', '0.5'], '--warm-up "0.5" is not a whole number'],
])('parseOptions() refuses %j', (argv, message) => {
  expect(() => parseOptions(argv)).toThrow(new TypeError(message))
})

test('a bench prints its help and exits', () => {
  const main = fileURLToPath(new URL('./main.ts', import.meta.url))
  const { status, stdout } = spawnSync(process.execPath, [main, '--help'], { encoding: 'utf8', timeout: 30_000 })
  expect(stdout).toContain('--only <job>')
  expect(status).toBe(0)
}, 60_000)

test('parseOptions() accepts every command line of the README', () => {
  const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8')
  const commands = [...readme.matchAll(/^npm run bench -- (?!--help)([^#\n]+)/gm)].map(([, line = '']) =>
    line.trim().split(/\s+/),
  )
  expect(commands.length).toBeGreaterThan(4)
  for (const command of commands) expect(parseOptions(command).only).not.toEqual([])
})
