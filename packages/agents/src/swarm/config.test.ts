import { describe, expect, test } from 'vitest'
import { openTestHouse } from '../../test/house.ts'

const model = { base_url: 'http://127.0.0.1:1/v1', model: 'stub' }
const one = { prompt: 'I am one.' }

describe('the configuration of a swarm', () => {
  test.each([
    ['default_agent', { default_agent: 'two', model, members: { one } }, 'default_agent: must be one of: one'],
    ['model', { default_agent: 'one', members: { one } }, 'members.one.model: there is no model for it'],
    [
      'navigates_to',
      { default_agent: 'one', model, members: { one: { ...one, navigates_to: ['two'] } } },
      'members.one.navigates_to: "two" is not one of: one',
    ],
    [
      'timeout',
      { default_agent: 'one', model, deadline: '60s', members: { one, eve: { operator: true } } },
      'members.eve.timeout: must be shorter than the deadline of the agent',
    ],
    [
      'refuse_input',
      { default_agent: 'one', model, members: { one }, policies: { p: { refuse_input: ['('], message: 'No' } } },
      'policies.p.refuse_input.0: must be a regular expression',
    ],
  ])('says which key is wrong: %s', async (_, config, problem) => {
    await expect(openTestHouse({ desk: { use: 'swarm', ...config } })).rejects.toThrow(`agents.desk.${problem}`)
  })

  test('is the same when it is read again', async () => {
    const config = {
      use: 'swarm',
      default_agent: 'one',
      model,
      members: { one: { ...one, navigates_to: ['eve'] }, eve: { operator: true }, far: { address: '@two@b.test' } },
    }
    const house = await openTestHouse({ desk: config })
    expect(house.find('desk')?.name).toBe('desk')
    await house.close()
  })
})
