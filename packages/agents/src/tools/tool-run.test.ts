import type { RunningStep, StepEnd, StepStart } from '@postern/pipeline'
import { createRecorderMember } from '@postern/pipeline'
import { expect, test } from 'vitest'
import { openModelAgent, textOfAnswer } from '../../test/model-agent.ts'
import { replyWith, respondWithToolCall } from '../../test/model-server.ts'

type Recorded = StepStart & { end?: StepEnd | undefined }

function createRecorder() {
  const steps: Recorded[] = []
  const context = createRecorderMember({
    begin(start): RunningStep {
      const step: Recorded = { ...start }
      steps.push(step)
      return {
        within: given => given,
        end: (end = {}) => {
          step.end ??= end
        },
      }
    },
  })
  return { steps, context }
}

const tools = './tools/shed.ts'

test.each([true, false])('the turn records tools and models when `show_tools` is %s', async show_tools => {
  const { steps, context } = createRecorder()
  const script = [
    respondWithToolCall('look', { where: 'here' }, 'a'),
    respondWithToolCall('explode', {}, 'b'),
    replyWith('Well.'),
  ]
  const { ask, server } = await openModelAgent(script, { config: { tools, show_tools } })
  const { answer } = await ask('hello', context)
  const { host } = new URL(server.baseUrl)
  const model = { kind: 'model', name: 'test-model', server: host }
  expect(steps).toEqual([
    { ...model, end: expect.objectContaining({ finishReason: 'tool_calls' }) },
    { kind: 'tool', name: 'look', id: 'a', end: {} },
    { ...model, end: expect.objectContaining({ finishReason: 'tool_calls' }) },
    { kind: 'tool', name: 'explode', id: 'b', end: { failureCode: 'failed' } },
    { ...model, end: expect.objectContaining({ finishReason: 'stop' }) },
  ])
  expect(answer?.parts?.some(({ kind }) => kind === 'tool_call')).toBe(show_tools)
  expect(textOfAnswer(answer)).toContain('Well.')
})

test('the turn records a failed request with the name of its error', async () => {
  const { steps, context } = createRecorder()
  const { ask } = await openModelAgent([{ status: 503, body: {} }])
  await expect(ask('hello', context)).rejects.toThrow()
  expect(steps).toMatchObject([{ kind: 'model', end: { failureCode: 'Unavailable' } }])
})

test('a waiting call is not a tool run', async () => {
  const { steps, context } = createRecorder()
  const config = { tools, tool_policies: { look: 'preview' } }
  const { ask } = await openModelAgent([respondWithToolCall('look', { where: 'here' })], { config })
  const { answer } = await ask('hello', context)
  expect(answer?.status).toBe('input_required')
  expect(steps.map(({ kind }) => kind)).toEqual(['model'])
})
