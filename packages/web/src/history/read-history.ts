import { Rejection } from '@postern/core'
import type { Context } from 'hono'
import type { WebDeps } from '../deps.ts'
import { maxRead } from '../deps.ts'
import { readAddressedAgent } from '../endpoint/agent-name.ts'
import { readCount } from '../endpoint/answer-owner.ts'
import type { WebOwner } from '../identity/speaker.ts'
import { findWebConversation } from './conversation.ts'
import { showHistory } from './show-history.ts'

const maxPage = 200

/** `GET …/history`: a range of a thread, ascending. */
export async function readHistory(c: Context, owner: WebOwner, deps: WebDeps): Promise<object> {
  const agent = readAddressedAgent(c.req.param('agent'), deps)
  const threadId = c.req.query('threadId')
  if (!threadId) throw new Rejection('malformed', 'Cannot read history: threadId is missing')
  const found = await findWebConversation({ owner, agent, threadId }, deps)
  if (!found) throw new Rejection('no_recipient', 'Cannot read history: there is no such thread')
  const [after, before] = [readCount(c, 'after_seq'), readCount(c, 'before_seq')]
  const size = Math.min(readCount(c, 'limit') ?? 50, maxPage)
  const isTrace = c.req.query('include') === 'trace'
  if (isTrace && !deps.config.trace) throw new Rejection('forbidden', 'Cannot read history: traces are for operators')
  const range = { ...(isTrace ? {} : { chat: true }), after_seq: after, before_seq: before, max_bytes: maxRead }
  const entries = await deps.transcript.read(found.thread, {
    ...range,
    ...(after === undefined ? { tail: size } : { limit: size }),
  })
  const view = { owner: owner.owner, isJoined: found.joined !== undefined, isTrace }
  const messages = await showHistory(entries, view, deps)
  const first = messages[0]?.seq ?? 1
  return { messages, ...(first > 1 && { next_before_seq: first }) }
}
