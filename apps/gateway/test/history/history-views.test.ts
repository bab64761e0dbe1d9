import type { ModelServer } from '@postern/agents/test-model-server'
import { openModelServer } from '@postern/agents/test-model-server'
import type { Part } from '@postern/message'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { TestGateway } from '../setup/gateway.ts'
import { openTestGateway } from '../setup/gateway.ts'
import { call, lastOf, memberOf, replyWith } from '../setup/swarm-gateway.ts'

// These tests check the history that running agents of a team see, in the prompts that a model server on loopback receives.

let gateway: TestGateway
let model: ModelServer

const planner = '@planner@agents.test'
const crew = ['one', 'two'] as const

beforeAll(async () => {
  model = await openModelServer(request => {
    const [memberName, lastText] = [memberOf(request), lastOf(request)]
    const isTool = request.body.messages.at(-1)?.role === 'tool'
    if (memberName === 'planner') {
      if (isTool) return replyWith('SYNTHESIS of phase 0: apples and pears')
      const tasks = crew.map(name => ({ worker: `@${name}@agents.test`, task: `weigh the ${name}s` }))
      return lastText.includes('phase zero')
        ? call('delegate_all', { tasks })
        : replyWith(`SYNTHESIS of another phase: ${lastText.slice(-9)}`)
    }
    return isTool ? replyWith(`${memberName} has weighed`) : call('weigh', { what: memberName })
  })
  const sharedModel = {
    use: 'openai',
    base_url: model.baseUrl,
    model: 'test-model',
    show_tools: true,
    tools: '../agents/calling/crew.ts',
  }
  const foreman = { use: '../agents/calling/foreman.ts' }
  const agents = {
    chief: foreman,
    planner: { ...sharedModel, prompt: 'I am planner.', history: { view: 'role:manager' } },
    one: { ...sharedModel, prompt: 'I am one.', history: { view: 'role:worker' } },
    two: { ...sharedModel, prompt: 'I am two.', history: { view: 'role:worker' } },
    hand: { ...foreman, history: { view: 'role:worker' } },
    boss: { ...foreman, history: { view: 'role:orchestrator' } },
  }
  gateway = await openTestGateway(() => ({ agents, default_agent: 'chief' }))
})
afterAll(async () => {
  await gateway.close()
  await model.close()
})

interface MemberRequest {
  readonly member: string
  readonly text: string
  readonly messages: readonly { readonly role: string; readonly content: unknown }[]
}

let countBefore = 0
beforeEach(() => {
  countBefore = model.requests.length
})
const requestsOf = (member: string): readonly MemberRequest[] =>
  model.requests.slice(countBefore).flatMap(request => {
    const { messages } = request.body
    return memberOf(request) === member ? [{ member, text: JSON.stringify(messages), messages }] : []
  })

async function runSteps(to: string, steps: readonly unknown[], thread?: string) {
  const result = await gateway.simulation.send({
    via: 'a2a',
    to,
    text: JSON.stringify(steps),
    ...(thread && { thread }),
  })
  return { ...result, text: result.reply?.text ?? '' }
}

const listEntryTypes = async (id: string) => {
  const query = new URLSearchParams({ format: 'store', thread: id })
  const { messages } = await gateway.requestOperator<{ messages: readonly { type: string }[] }>(`/transcript?${query}`)
  return messages.map(({ type }) => type)
}

describe('the manager of a phase (S-32, S-21)', () => {
  test('gets exactly a model’s results of the previous phase, after parallel workers', async () => {
    await runSteps('chief', [
      { ask: planner, say: 'phase zero', phase: 0 },
      { ask: planner, say: 'go on with phase one', phase: 1, again: true },
      { ask: planner, say: 'go on with phase two', phase: 2, again: true },
      { ask: planner, say: 'back to the first', phase: 5, previous: 0, again: true },
      { ask: planner, say: 'no phase', again: true },
    ])
    const [firstPhase, secondPhase, ...laterPhases] = requestsOf('planner')
    expect(firstPhase?.messages.map(({ role }) => role)).toEqual(['system', 'user'])
    expect(secondPhase?.messages.map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'tool'])
    const earlierTexts = laterPhases.map(({ messages }) =>
      messages.filter(({ role }) => role === 'assistant').map(({ content }) => content),
    )
    const synthesis = 'SYNTHESIS of phase 0: apples and pears'
    expect(earlierTexts).toEqual([[synthesis], ['SYNTHESIS of another phase: phase one'], [synthesis], []])
    for (const { messages, text } of laterPhases) {
      // The prompt has the rules, an opener if the history begins with the agent, its history, and the message.
      expect(messages.map(({ role }) => role)).toEqual(
        messages.length === 2 ? ['system', 'user'] : ['system', 'user', 'assistant', 'user'],
      )
      expect(text).not.toMatch(/phase zero|has weighed|delegate_all|private scale/)
    }
  })

  test('has the results of its workers in one turn of its own thread', async () => {
    await runSteps('chief', [{ ask: planner, say: 'phase zero', phase: 0 }])
    const [{ id = '', message = 0 } = {}] = (await gateway.messages()).filter(({ agent }) => agent === 'planner')
    const query = new URLSearchParams({ format: 'store', thread: id })
    const { messages } = await gateway.requestOperator<{ messages: readonly Record<string, unknown>[] }>(
      `/transcript?${query}`,
    )
    const notes = messages.filter(({ type }) =>
      ['delegation', 'observation', 'global_observation', 'synthesis'].includes(String(type)),
    )
    expect(notes.map(({ type }) => type).toSorted()).toEqual([
      'delegation',
      'delegation',
      'global_observation',
      'global_observation',
      'observation',
      'observation',
      // The tool that called them ends here.
      'observation',
      'synthesis',
    ])
    expect(new Set(notes.map(({ turn_id }) => turn_id))).toEqual(new Set([`store-${message}`]))
    expect(notes.find(({ type }) => type === 'synthesis')).toMatchObject({
      content: 'SYNTHESIS of phase 0: apples and pears',
      from_manager: 'planner',
      phase_id: 0,
    })
  })

  test('gets an error that names the member for an invalid phase', async () => {
    const metadata = { mentionable: { phase_id: -1 } }
    const url = 'https://agents.test/agents/planner/a2a'
    const { error } = await gateway.simulation.a2a.deliver({ url, text: 'x', metadata })
    expect(error).toMatchObject({
      code: -32602,
      message: 'Cannot SendMessage: message.metadata.mentionable.phase_id must be a whole number from 0 on',
    })
  })
})

describe('a worker (S-33, S-22)', () => {
  test('never sees the work of another worker, nor its own work for an earlier task', async () => {
    await runSteps('chief', [
      { ask: planner, say: 'phase zero', phase: 0 },
      { ask: '@one@agents.test', say: 'weigh once' },
      { ask: '@one@agents.test', say: 'weigh again', again: true },
    ])
    for (const [ownAgent, otherAgent] of [crew, crew.toReversed()]) {
      const prompts = requestsOf(String(ownAgent))
      expect(prompts.length).toBeGreaterThan(0)
      for (const { text } of prompts) {
        expect(text).not.toContain(`the private scale for ${otherAgent}`)
        expect(text).not.toContain(`${otherAgent} has weighed`)
        expect(text).not.toContain(`weigh the ${otherAgent}s`)
      }
    }
    const secondRequests = requestsOf('one').filter(({ text }) => text.includes('weigh again'))
    expect(secondRequests.map(({ messages }) => messages.map(({ role }) => role))).toEqual([
      ['system', 'user'],
      ['system', 'user', 'assistant', 'tool'],
    ])
    expect(JSON.stringify(secondRequests)).not.toContain('weigh once')
  })

  type Turn = readonly [role: string, from: string, parts: readonly Part[]]
  const historyIn = (text: string) => JSON.parse(text) as readonly Turn[]

  test('sees everything since its own last task if it notes its tasks (S-22, S-23, S-24)', async () => {
    const note = (type: string, members: object) => ({ note: { type, ...members } })
    const firstBroadcast = await runSteps('hand', [
      note('task', { content: 'an earlier task' }),
      note('global_observation', { content: 'an earlier broadcast', from_worker: 'worker-2' }),
      note('task', { content: 'count the boxes' }),
      note('strategic_plan', { content: { plan: 'secret plan' } }),
      note('action', { tool: 'count', args: { what: 'boxes' } }),
      note('observation', { content: { boxes: 7 } }),
      note('global_observation', { content: 'a broadcast', from_worker: 'worker-2' }),
      note('task', { content: 'the task of another', agent_key: 'worker-2' }),
      note('action', { tool: 'peek', args: {}, agent_key: 'worker-2' }),
      note('observation', { content: 'private to worker-2', agent_key: 'worker-2' }),
      note('final', { content: 'all is done' }),
    ])
    const { text } = await runSteps('hand', [{ tell: 'history' }], firstBroadcast.thread)
    const turns = historyIn(text)
    const spokenTurns = turns.map(([role, , parts]) => [
      role,
      ...parts.map(part =>
        part.kind === 'text' ? part.content : part.kind === 'tool_call' ? [part.name, part.result] : part.kind,
      ),
    ])
    expect(spokenTurns).toEqual([
      ['user', 'count the boxes'],
      ['assistant', ['count', { boxes: 7 }]],
      ['user', 'a broadcast'],
    ])
    expect(turns[2]?.[1]).toBe('worker-2')
  })

  test('sees no history if it notes no task (S-22)', async () => {
    const first = await runSteps('hand', [{ ask: '@one@agents.test', say: 'weigh it' }])
    const { text } = await runSteps('hand', [{ tell: 'history' }], first.thread)
    expect(text).toBe('[]')
    expect(await listEntryTypes(first.id)).toContain('delegation')
  })
})

test('an orchestrator gets the last eight messages, without actions (S-20)', async () => {
  let thread: string | undefined
  for (let round = 0; round < 6; round += 1) {
    const sentWork = await runSteps('boss', [{ note: { type: 'action', tool: 'think', args: { round } } }], thread)
    thread = sentWork.thread
  }
  const { text } = await runSteps('boss', [{ tell: 'history' }], thread)
  const turns = JSON.parse(text) as readonly unknown[]
  expect(turns).toHaveLength(8)
  expect(text).not.toContain('tool_call')
})
