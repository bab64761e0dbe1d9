import { createMemoryTranscript } from '@postern/transcript'
import { expect, test, vi } from 'vitest'
import { findWebThread } from './history.ts'

const world = { now: () => 0, randomBytes: (size: number) => crypto.getRandomValues(new Uint8Array(size)) }
const place = { owner: 'web:["https://id.test","ann"]', agent: 'desk', threadId: 'thread-1' }

function openTranscript(hasConversation: boolean) {
  const memory = createMemoryTranscript(world)
  const openThread = vi.fn(memory.openThread)
  const bindDesk = vi.fn(async () => hasConversation)
  const rest = { readUsage: vi.fn(), checkRoom: vi.fn(), hasConversation: async () => hasConversation }
  return { ...memory, ...rest, openThread, bindDesk }
}

test('findWebThread() writes nothing for a thread that is not there', async () => {
  const transcript = openTranscript(false)
  expect(await findWebThread(place, { transcript })).toBeUndefined()
  expect(transcript.openThread).not.toHaveBeenCalled()
  expect(transcript.bindDesk).not.toHaveBeenCalled()
})

test('findWebThread() binds what the desk has, once it has it', async () => {
  const transcript = openTranscript(true)
  const found = await findWebThread(place, { transcript })
  expect(found).toMatchObject({ owner: place.owner })
  expect(transcript.bindDesk).toHaveBeenCalledWith(found, {
    agent: 'desk',
    via: 'web',
    scope: place.owner,
    key: 'thread-1',
  })
})
