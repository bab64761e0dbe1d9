import type { Event } from '@ag-ui/core'
import type { NoteBody, NoteNotice } from '@postern/pipeline'
import { describe, expect, test } from 'vitest'
import { createRunWriter } from './run-events.ts'

const note = (id: string, body: NoteBody): NoteNotice => ({ kind: 'note', id, body })
const delegate = { name: 'delegate', args: { worker: 'one', task: 'count' } }
const delegation = note('d-1', { kind: 'delegation', tool: { call_id: 'd-1', ...delegate } })
const observation = (error?: { message: string }) =>
  note('d-1', {
    kind: 'tool_result',
    content: { parts: [{ kind: 'text', mime: 'text/plain', content: 'twelve' }] },
    tool: { call_id: 'd-1', ...(error && { error }) },
  })

function writeNotices(notices: readonly NoteNotice[], showsNotes = true) {
  const events: Event[] = []
  const run = {
    threadId: 't',
    runId: 'r',
    agent: 'desk',
    now: () => 1000,
    clientTools: new Set<string>(),
    showsNotes,
  }
  const writer = createRunWriter(run, event => void events.push(event))
  writer.start()
  for (const notice of notices) writer.writeNote(notice)
  writer.finish({ kind: 'success' })
  return events.map(({ type }) => type).filter(type => !type.startsWith('RUN_') && !type.startsWith('STEP_'))
}

describe('notes of a repeated turn', () => {
  test('start a subagent once, whatever its end', () => {
    expect(writeNotices([delegation, delegation, observation()])).toEqual(['SUBAGENT_STARTED', 'SUBAGENT_FINISHED'])
    const failed = [delegation, observation({ message: 'no' }), delegation, observation()]
    expect(writeNotices(failed)).toEqual(['SUBAGENT_STARTED', 'SUBAGENT_ERROR'])
  })

  test('do not end a subagent whose beginning the chat has not seen', () => {
    expect(writeNotices([observation(), observation({ message: 'no' })])).toEqual([])
  })
})

test('a chat shows no notes of unknown kinds, and none if the configuration hides notes', () => {
  const ignoredNames = ['director_context', 'injected_context', 'final', 'error', '__proto__', 'constructor']
  expect(writeNotices(ignoredNames.map(kind => note('n-1', { kind, content: { value: 'x' } })))).toEqual([])
  expect(writeNotices([delegation, observation()], false)).toEqual([])
})

test('a stage that ends without its beginning, or twice, ends nothing', () => {
  const end = note('s-1', { kind: 'activity', latency_ms: 1 })
  expect(writeNotices([end, end])).toEqual([])
})
