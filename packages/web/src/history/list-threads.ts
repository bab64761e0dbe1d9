import type { OwnThread } from '@postern/core'
import type { Context } from 'hono'
import type { WebDeps } from '../deps.ts'
import { readAddressedAgent } from '../endpoint/agent-name.ts'
import { readCount } from '../endpoint/answer-owner.ts'
import type { WebOwner } from '../identity/speaker.ts'
import { listOwnPlaces, nameThread } from './own-threads.ts'

const [usual, most] = [50, 200]

/** `GET …/threads`: the conversations of a person with an agent, newest first. */
export async function readThreads(c: Context, owner: WebOwner, deps: WebDeps): Promise<object> {
  const agent = readAddressedAgent(c.req.param('agent'), deps)
  const limit = Math.max(1, Math.min(readCount(c, 'limit') ?? usual, most))
  const before = readCount(c, 'before')
  const whose = await listOwnPlaces(owner, agent, deps)
  const { threads, next } = await deps.gateway.store.listOwnThreads({ ...whose, limit, before })
  return { threads: threads.map(showThread), ...(next !== undefined && { next_before: next }) }
}

function showThread(thread: OwnThread): object {
  const { via, isShared, begunAt, lastAt, beginning } = thread
  const times = { begun_at: new Date(begunAt).toISOString(), last_at: new Date(lastAt).toISOString() }
  return { threadId: nameThread(thread), via, beginning, ...times, ...(isShared && { shared: true }) }
}
