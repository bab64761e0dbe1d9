import type { StepStart } from '@postern/pipeline'
import { createRecorderMember } from '@postern/pipeline'
import { expect, test } from 'vitest'
import { openAgui } from '../../../test/agui-agent.ts'
import { finished, runOf } from '../../../test/agui-server.ts'

test('the turn records a tool call with its result, and not without one', async () => {
  const startedSteps: StepStart[] = []
  const ended: string[] = []
  const recorder = createRecorderMember({
    begin(start) {
      startedSteps.push(start)
      return { within: context => context, end: () => void ended.push(start.name) }
    },
  })
  const { ask } = await openAgui([
    runOf(
      { type: 'TOOL_CALL_START', toolCallId: 'c1', toolCallName: 'look_up' },
      { type: 'TOOL_CALL_START', toolCallId: 'c2', toolCallName: 'open_page' },
      { type: 'TOOL_CALL_RESULT', messageId: 'm', toolCallId: 'c1', content: '{"left":3}' },
      finished(),
    ),
  ])
  const before = Date.now()
  await ask('hello', recorder)
  expect(startedSteps).toEqual([{ kind: 'tool', name: 'look_up', id: 'c1', at: expect.any(Number) }])
  expect(startedSteps[0]?.at).toBeGreaterThanOrEqual(before)
  expect(ended).toEqual(['look_up'])
})
