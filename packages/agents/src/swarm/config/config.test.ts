import { describe, expect, test } from 'vitest'
import { openAgentGateway } from '../../../test/gateway.ts'

const model = { base_url: 'http://127.0.0.1:1/v1', model: 'test-model' }
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
  ])('names the invalid key: %s', async (_, config, problem) => {
    await expect(openAgentGateway({ desk: { use: 'swarm', ...config } })).rejects.toThrow(`agents.desk.${problem}`)
  })

  test.each([
    ['a state that there is not', {}, 'the compute "total": there is no state "cart"'],
    [
      'a state that is not shared',
      { states: { cart: { default: [] } } },
      'the compute "total": it is shared, and the state "cart" is not',
    ],
  ])('names the compute that uses %s', async (_, settings, problem) => {
    const config = { use: 'swarm', default_agent: 'one', model, members: { one }, computes: './computes/sums.ts' }
    await expect(openAgentGateway({ desk: { ...config, ...settings } })).rejects.toThrow(
      `agents.desk.computes: ${problem}`,
    )
  })

  test.each([
    ['states', { states: { '../cart': {} } }, /states/],
    ['storages', { storages: { '': {} } }, /storages/],
    ['rescue_checks', { rescue_checks: ['manners'] }, /rescue_checks\.0/],
    ['computes', { computes: './computes/none.ts' }, /computes: "\.\/computes\/none\.ts" cannot be loaded/],
  ])('refuses invalid values of %s', async (_, settings, problem) => {
    const config = { use: 'swarm', default_agent: 'one', model, members: { one }, ...settings }
    await expect(openAgentGateway({ desk: config })).rejects.toThrow(problem)
  })

  test('parses its own output unchanged', async () => {
    const config = {
      use: 'swarm',
      default_agent: 'one',
      model,
      states: { cart: { default: [], shared: true } },
      storages: { notes: {} },
      computes: './computes/sums.ts',
      rescue_checks: ['braces'],
      members: {
        one: { ...one, navigates_to: ['eve'], navigates_back: true },
        eve: { operator: true },
        far: { address: '@two@b.test' },
      },
    }
    const gateway = await openAgentGateway({ desk: config })
    expect(gateway.find('desk')?.name).toBe('desk')
    await gateway.close()
  })
})
