import type { NormalizedResponse, Part } from '@postern/message'
import type { TaskRecord } from '@postern/pipeline'
import { expect, test, vi } from 'vitest'
import type { WireStreamEvent } from '../format/wire.ts'
import { createTaskFeed } from './task-feed.ts'

const textPart = (content: string): Part => ({ kind: 'text', mime: 'text/plain', content })

/** Opens a feed of one task that the test changes, with its notices. */
function openFeed() {
  const key = { owner: 'ann', id: 't' }
  let record = {
    ...key,
    agent: 'desk',
    context: 'c',
    state: 'working',
    updatedAt: 0,
    earlierResponses: [],
    canceledAnswers: [],
  } as unknown
  let announce: (notice: unknown) => void = () => {}
  const store = {
    findTask: async () => record as TaskRecord,
    findBlob: async () => undefined,
    listen(_: string, hear: (notice: unknown) => void) {
      announce = hear
      return () => {}
    },
  }
  const log = { warn: vi.fn() } as never
  const system = { now: () => 0, sleep: async () => {}, log }
  const feed = createTaskFeed({ store, system }, { key, epoch: 'ab', keepsEvents: () => false, onIdle() {} })
  const events: string[] = []
  const sink = { send: (event: WireStreamEvent) => void events.push(describe(event)), beat() {}, end() {} }
  feed.track(1)
  feed.join({ sink, view: { historyLength: 0, includeArtifacts: true } })
  return {
    feed,
    seen: events,
    announce: (notice: object) => announce(notice),
    commit(response: Partial<NormalizedResponse>) {
      record = { ...(record as object), state: response.status, response }
    },
  }
}

function describe(event: WireStreamEvent): string {
  if ('task' in event) return `task ${event.task.status.state}`
  if ('artifactUpdate' in event) return `artifact ${event.artifactUpdate.artifact.parts[0]?.text}`
  if (!('statusUpdate' in event)) return 'message'
  const { state, message } = event.statusUpdate.status
  return message ? `${state} "${message.parts[0]?.text}"` : state
}

test('a subscriber who has a question gets no late chunks of it, and no earlier state of the task', async () => {
  const { feed, seen, announce, commit } = openFeed()
  await vi.waitFor(() => expect(seen).toEqual(['task TASK_STATE_WORKING']))
  const answer = { id: 'answer-1', status: 'input_required' as const, parts: [textPart('Which one?')] }
  commit(answer)
  feed.poll()
  announce({ kind: 'part', chunk: { parts: [textPart('Let me see.')] }, run: 1, index: 0, response: 'answer-1' })
  const question = { parts: answer.parts, status: 'input_required' }
  announce({ kind: 'part', chunk: question, run: 1, index: 1, response: 'answer-1' })
  announce({ kind: 'end' })
  const asks = 'TASK_STATE_INPUT_REQUIRED "Which one?"'
  await vi.waitFor(() => expect(seen).toContain(asks))
  await new Promise(resolve => setTimeout(resolve, 20))
  expect(seen).toEqual(['task TASK_STATE_WORKING', asks])
})
