// Lists what the bot itself has posted in Slack, to find posts whose acknowledgement was lost.
import type { OwnPost } from '../platform.ts'

interface SlackPost {
  readonly ts?: string
  readonly user?: string
  readonly text?: string
}

/** The calls of Slack's client that list messages. */
interface ConversationCalls {
  readonly conversations: {
    replies(query: RepliesQuery): Promise<{ readonly messages?: readonly SlackPost[] }>
    history(query: HistoryQuery): Promise<{ readonly messages?: readonly SlackPost[] }>
  }
}

interface HistoryQuery {
  readonly channel: string
  readonly oldest: string
  readonly limit: number
}

interface RepliesQuery extends HistoryQuery {
  readonly ts: string
}

const maxMessages = 100

/** Lists the posts of the bot in an adapter's thread (`slack:C1:1700000000.000100`) since a time, ms. Without a `ts` it is a whole conversation. */
export async function listSlackPosts(
  { conversations }: ConversationCalls,
  { bot, thread, since }: { readonly bot: string | undefined; readonly thread: string; readonly since: number },
): Promise<readonly OwnPost[]> {
  const [, channel = '', ts = ''] = thread.split(':')
  const query = { channel, oldest: String(since / 1000), limit: maxMessages }
  const { messages = [] } =
    ts === '' ? await conversations.history(query) : await conversations.replies({ ...query, ts })
  return messages
    .flatMap(({ ts: id, user, text = '' }) => (id !== undefined && user === bot ? [{ id, text }] : []))
    .toSorted((left, right) => Number(left.id) - Number(right.id))
}
