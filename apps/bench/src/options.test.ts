import { expect, test } from 'vitest'
import { jobs, parseOptions } from './options.ts'

test('parseOptions() measures everything unless told otherwise', () => {
  expect(parseOptions([])).toEqual({
    only: jobs.filter(job => job !== 'calls' && job !== 'tasks' && job !== 'postgres' && job !== 'mixed'),
    rounds: 5,
    seconds: 3,
    quick: false,
    full: false,
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

test.each([
  [
    ['--only', 'gopher'],
    '--only "gopher" is not one of activitypub, a2a, mail, maillarge, mailout, stall, flood, memory, growth, fanout, transcript, start, calls, tasks, postgres, mixed',
  ],
  [['--rounds', 'many'], '--rounds "many" is not a positive number'],
  [['--seconds', '0'], '--seconds "0" is not a positive number'],
])('parseOptions() refuses %j', (argv, message) => {
  expect(() => parseOptions(argv)).toThrow(new TypeError(message))
})
