import { describe, expect, it } from 'vitest'
import { agentSpec, callOf, openMemorySwarm, scripted, swarmSpec, toolOf } from '../../test/memory-swarm.ts'
import type { ModelAnswer } from '../index.ts'
import { openSwarmClient } from '../index.ts'

describe('control of a running turn', () => {
  const two = (...ids: readonly string[]): ModelAnswer => ({
    content: '',
    tool_calls: ids.flatMap(id => callOf('look', {}, id).tool_calls ?? []),
  })

  it.each(['commitStopTools', 'commitAgentChange'] as const)('with %s skips the waiting calls', async operation => {
    const { deps } = openMemorySwarm()
    const ran: string[] = []
    const look = toolOf('look', async ({ toolId, commitToolOutput }) => {
      ran.push(toolId)
      await commitToolOutput('x')
      await client.commits[operation]({ agentName: 'a' })
    })
    const client = await openSwarmClient(
      swarmSpec([agentSpec('a', scripted(two('1', '2', '3'), 'done'), { tools: [look], maxToolCalls: 3 })]),
      deps,
      'c',
    )
    expect(await client.complete('hi')).toBe('done')
    expect(ran).toEqual(['1'])
  })

  it('ends with a polite sentence after twenty executions', async () => {
    const { deps } = openMemorySwarm()
    let asked = 0
    const model = {
      async complete() {
        asked += 1
        return callOf('look', {}, `c-${asked}`)
      },
    }
    const look = toolOf('look', async ({ commitToolOutput }) => commitToolOutput('x'))
    const spec = swarmSpec([agentSpec('a', model, { tools: [look] })], { texts: { placeholders: ['Pardon?'] } })
    const client = await openSwarmClient(spec, deps, 'c')
    expect(await client.complete('hi')).toBe('Pardon?')
    expect(asked).toBe(20)
  })

  it('with a cancel while the model answers drops its calls', async () => {
    const { deps, bus, events } = openMemorySwarm()
    const asked = Promise.withResolvers<void>()
    const answered = Promise.withResolvers<ModelAnswer>()
    const ran: string[] = []
    const look = toolOf('look', async ({ toolId }) => void ran.push(toolId))
    const model = {
      async complete() {
        asked.resolve()
        return answered.promise
      },
    }
    const client = await openSwarmClient(swarmSpec([agentSpec('a', model, { tools: [look] })]), deps, 'c')
    const answer = client.complete('hi')
    await asked.promise
    await client.commits.commitCancelOutput({ agentName: 'a' })
    answered.resolve(two('1'))
    expect(await answer).toBe('')
    await bus.drain()
    expect(ran).toEqual([])
    expect(JSON.stringify(events)).not.toContain('"look"')
  })

  it('with commitCancelOutput gives up the answer', async () => {
    const { deps, bus, events } = openMemorySwarm()
    const asked = Promise.withResolvers<void>()
    const never = () => {
      asked.resolve()
      return new Promise<ModelAnswer>(() => {})
    }
    const client = await openSwarmClient(swarmSpec([agentSpec('a', scripted(never, 'next'))]), deps, 'c')
    const answer = client.complete('hi')
    await asked.promise
    expect(await client.commits.commitCancelOutput({ agentName: 'b' })).toBe(false)
    expect(client.isBusy).toBe(true)
    expect(await client.commits.commitCancelOutput({ agentName: 'a' })).toBe(true)
    expect(await answer).toBe('')
    expect(await client.complete('again')).toBe('next')
    await bus.drain()
    expect(events.filter(({ source }) => source === 'swarm-bus').map(({ type, output }) => [type, output])).toEqual([
      ['cancel-output', {}],
      ['wait-for-output', { result: '' }],
      ['wait-for-output', { result: 'next' }],
    ])
  })

  it('with a change of agent within an answer ends its calls', async () => {
    const { deps } = openMemorySwarm()
    const ran: string[] = []
    const look = toolOf('look', async ({ toolId, commitToolOutput, changeToAgent }) => {
      ran.push(toolId)
      await commitToolOutput('x')
      await changeToAgent('b')
    })
    const a = agentSpec('a', scripted(two('1', '2')), { tools: [look], maxToolCalls: 2 })
    const client = await openSwarmClient(swarmSpec([a, agentSpec('b', scripted('b goes on'))]), deps, 'c')
    expect(await client.complete('hi')).toBe('b goes on')
    expect(ran).toEqual(['1'])
  })
})
