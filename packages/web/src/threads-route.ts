import type { OwnThread } from '@postern/core'
import type { Context } from 'hono'
import { readCount } from './history-route.ts'
import { listOwnPlaces, nameThread } from './own-threads.ts'
import type { WebOwner } from './owner.ts'
import type { WebRooms } from './rooms.ts'
import { findAgentName } from './runs/start-run.ts'

const [usual, most] = [50, 200]

/** `GET …/threads`: the conversations of a person with an agent, those that began last first. */
export async function readThreads(c: Context, owner: WebOwner, rooms: WebRooms): Promise<object> {
  const agent = findAgentName(c.req.param('agent'), rooms)
  const limit = Math.max(1, Math.min(readCount(c, 'limit') ?? usual, most))
  const before = readCount(c, 'before')
  const whose = await listOwnPlaces(owner, agent, rooms)
  const { threads, next } = await rooms.house.desk.listOwnThreads({ ...whose, limit, before })
  return { threads: threads.map(showThread), ...(next !== undefined && { next_before: next }) }
}

function showThread(thread: OwnThread): object {
  const { via, isShared, begunAt, lastAt, beginning } = thread
  const times = { begun_at: new Date(begunAt).toISOString(), last_at: new Date(lastAt).toISOString() }
  return { threadId: nameThread(thread), via, beginning, ...times, ...(isShared && { shared: true }) }
}
