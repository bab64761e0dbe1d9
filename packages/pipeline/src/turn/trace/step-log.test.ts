import type { Part } from '@postern/message'
import { Unavailable } from '@postern/message'
import { describe, expect, test } from 'vitest'
import { createQuietSystem, turn } from '../../../test/memory-store.ts'
import { neverAbortedSignal, openTurnBench } from '../../../test/turn-bench.ts'
import type { Agent } from '../../ports/agent/agent.ts'
import type { CallAgent } from '../../ports/agent/agent-call.ts'
import type { AgentContext } from '../../ports/agent/agent-context.ts'
import type { EndedStep, StepRecorder } from '../../ports/agent/step-recorder.ts'
import { findStepRecorder } from '../../ports/agent/step-recorder.ts'
import { runTurn } from '../turn.ts'
import { StepLog } from './step-log.ts'

const call = (id: string, members: object = {}) =>
  ({ kind: 'tool_call', id, name: `tool ${id}`, args: {}, ...members }) as Part

describe('the record of an agent’s steps', () => {
  test('has tool calls with their start, duration and outcome', () => {
    let now = 0
    const endedSteps: EndedStep[] = []
    const steps = new StepLog(
      () => now,
      step => endedSteps.push(step),
    )
    steps.recordCalls([call('a')])
    now = 40
    steps.recordCalls([call('a', { result: 1 }), call('b')])
    now = 50
    steps.recordCalls([call('b', { error: { message: 'no' } })])
    steps.recordCalls([call('c', { result: 2 })])
    steps.recordCalls([call('c', { result: 2 })])
    steps.recordCalls([call('d')])
    expect(steps.tools).toEqual([
      { name: 'tool a', at: 0, ms: 40, ok: true },
      { name: 'tool b', at: 40, ms: 10, ok: false },
      { name: 'tool c', at: 50, ok: true },
      { name: 'tool d', at: 50, ok: true },
    ])
    expect(endedSteps.map(({ id, startedAt, endedAt, failureCode: fault }) => [id, startedAt, endedAt, fault])).toEqual(
      [
        ['a', 0, 40, undefined],
        ['b', 40, 50, 'failed'],
        ['c', 50, 50, undefined],
      ],
    )
  })
})

interface TurnSteps {
  /** Each step as `kind name`, after the path of its parents. */
  readonly tree: readonly string[]
  readonly endedSteps: readonly EndedStep[]
  readonly attempt: Awaited<ReturnType<typeof runTestTurn>>['attempt']
}

async function runTestTurn(handle: Agent['handle'], callAgent: CallAgent) {
  let now = 1_000
  const endedSteps: EndedStep[] = []
  const system = createQuietSystem({ now: () => (now += 10) })
  const traceparentOf = (_: unknown, step?: number) => `step ${step ?? 'of the turn'}`
  const { memory, turnContext } = openTurnBench(handle, {
    system,
    callAgent,
    traceparentOf,
    onStepEnded: (_, step) => endedSteps.push(step),
  })
  await runTurn(turn(1), turnContext, neverAbortedSignal)
  return { endedSteps, attempt: memory.commits[0]?.answer.attempt }
}

async function runWithSteps(handle: Agent['handle'], callAgent: CallAgent = answers): Promise<TurnSteps> {
  const { endedSteps, attempt } = await runTestTurn(handle, callAgent)
  const byNumber = new Map(endedSteps.map(step => [step.number, step]))
  const pathOf = (step: EndedStep): string => {
    const parentStep = step.parent === undefined ? undefined : byNumber.get(step.parent)
    return `${parentStep ? `${pathOf(parentStep)} > ` : ''}${step.kind} ${step.name}`
  }
  return {
    endedSteps,
    attempt,
    tree: endedSteps.toSorted((one, other) => one.number - other.number).map(pathOf),
  }
}

const answers: CallAgent = async address => ({ parts: [], status: 'completed', source: { address, card: 'c' } })

function stepsOf(context: AgentContext): StepRecorder {
  const recorder = findStepRecorder(context)
  if (!recorder) throw new Error('a turn records its steps')
  return recorder
}

describe('the steps of a turn', () => {
  test('are below the turn, stage or tool that starts them', async () => {
    const { tree, endedSteps, attempt } = await runWithSteps(async (_, context) => {
      const modelStep = stepsOf(context).begin({ kind: 'model', name: 'm', server: 'model.test' })
      modelStep.end({ usage: { input_tokens: 7, output_tokens: 2 }, finishReason: 'tool_calls' })
      context.stage('search')
      const tool = stepsOf(context).begin({ kind: 'tool', name: 'look', id: 'x' })
      const toolContext = tool.within(context)
      await toolContext.call('@one@b.test', 'hi')
      tool.end()
      context.stage('write')
      await context.call('@two@b.test', 'hi')
      return 'done'
    })
    expect(tree).toEqual([
      'model m',
      'stage search',
      'stage search > tool look',
      'stage search > tool look > call @one@b.test',
      'stage write',
      'stage write > call @two@b.test',
    ])
    const [model, tool] = [endedSteps[0], endedSteps.find(({ kind }) => kind === 'tool')]
    expect(tool).toMatchObject({ id: 'x', requestedByStep: model?.number })
    expect(attempt?.tools).toEqual([{ name: 'look', at: tool?.startedAt, ms: 30, ok: true }])
    expect(attempt?.models).toEqual([
      { name: 'm', at: model?.startedAt, ms: 10, ok: true, input_tokens: 7, output_tokens: 2 },
    ])
    for (const { startedAt, endedAt } of endedSteps) expect(endedAt).toBeGreaterThan(startedAt)
  })

  test('pass their own `traceparent` to the code that runs inside', async () => {
    const traceparents: (string | undefined)[] = []
    await runWithSteps(
      async (_, context) => {
        const toolContext = stepsOf(context).begin({ kind: 'tool', name: 'look', id: 'x' }).within(context)
        traceparents.push(context.traceparent, toolContext.traceparent)
        await toolContext.call('@one@b.test', 'hi')
        return 'done'
      },
      async (address, parts, options) => {
        traceparents.push(options.traceparent)
        return answers(address, parts, options)
      },
    )
    expect(traceparents).toEqual(['step of the turn', 'step 1', 'step 2'])
  })

  test('record the reason of a failure as a code without text', async () => {
    const { endedSteps, attempt } = await runWithSteps(
      async (_, context) => {
        stepsOf(context).begin({ kind: 'model', name: 'm' }).end({ failureCode: 'Unavailable' })
        await context.call('@one@b.test', 'hi').catch(() => undefined)
        return 'done'
      },
      async () => {
        throw new Unavailable('the secret of @one@b.test')
      },
    )
    expect(endedSteps.map(({ kind, failureCode: fault }) => [kind, fault])).toEqual([
      ['model', 'Unavailable'],
      ['call', 'Unavailable'],
    ])
    expect(attempt?.models).toMatchObject([{ ok: false }])
  })

  test('end with their turn if they are still running', async () => {
    const endFunctions: (() => void)[] = []
    const { endedSteps, attempt } = await runWithSteps((_, context) => {
      context.stage('search')
      const { end } = stepsOf(context).begin({ kind: 'tool', name: 'look', id: 'x' })
      endFunctions.push(end)
      throw new TypeError('broken')
    })
    for (const end of endFunctions) end()
    expect(endedSteps.map(({ kind, failureCode: fault }) => [kind, fault])).toEqual([
      ['tool', 'TypeError'],
      ['stage', undefined],
    ])
    expect(attempt?.tools).toMatchObject([{ name: 'look', ok: false }])
  })

  test('may have started before the agent reports them, but not after', async () => {
    const { endedSteps } = await runWithSteps((_, context) => {
      for (const at of [5, Number.MAX_SAFE_INTEGER])
        stepsOf(context)
          .begin({ kind: 'tool', name: 'look', id: `${at}`, at })
          .end()
      return 'done'
    })
    const [early, late] = endedSteps
    expect(early?.startedAt).toBe(5)
    expect(late?.startedAt).toBeLessThanOrEqual(late?.endedAt ?? 0)
  })

  test('count once if the agent also reports the call', async () => {
    const { endedSteps, attempt } = await runWithSteps(async function* (_, context) {
      yield call('x')
      const step = stepsOf(context).begin({ kind: 'tool', name: 'look', id: 'x' })
      yield call('x')
      step.end({ failureCode: 'failed' })
      yield call('x', { error: { message: 'no' } })
      yield 'done'
    } as Agent['handle'])
    expect(endedSteps).toHaveLength(1)
    expect(attempt?.tools).toMatchObject([{ ok: false }])
  })

  test('have a limit, so that an endless agent fills neither the record nor the trace', async () => {
    const { endedSteps, attempt } = await runWithSteps((_, context) => {
      for (let count = 0; count < 2_000; count += 1) {
        const name = 'x'.repeat(10_000)
        stepsOf(context).begin({ kind: 'model', name }).end()
        stepsOf(context)
          .begin({ kind: 'tool', name, id: `${count}` })
          .end()
      }
      return 'done'
    })
    expect(endedSteps).toHaveLength(500)
    expect(JSON.stringify(attempt).length).toBeLessThan(32_000)
  })
})
