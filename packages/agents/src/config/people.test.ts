import { expect, test } from 'vitest'
import { readAgentConfig } from '../config.ts'

const read = (people: unknown) => readAgentConfig('desk', { use: 'builtin:echo', people }).config.people

test('by default nobody can link addresses', () => {
  expect(read(undefined)).toBeUndefined()
  expect(read({})).toEqual({ link: false, share: 'none', mail: 'none' })
  expect(read({ link: true, share: 'history+state' })).toEqual({ link: true, share: 'history+state', mail: 'none' })
})

test.each([
  [{ share: 'history' }, 'agents.desk.people.share', 'shares between linked addresses: set "link" to true, too'],
  [{ link: true, share: 'all' }, 'agents.desk.people.share', 'Invalid option'],
  [{ linked: true }, 'agents.desk.people', 'Unrecognized key'],
])('the configuration refuses %j by its key', (people, key, problem) => {
  expect(() => read(people)).toThrow(expect.objectContaining({ key, message: expect.stringContaining(problem) }))
})
