// Finds deletions that Slack reports as changes, which its adapter passes over.
import type { Adapter } from 'chat'
import type { HeardEvent } from '../adapters/host.ts'
import type { SlackContent } from './document.ts'

/** Lists the deletion of a message that has replies. Slack leaves a tombstone in its place, so that its thread stays. */
export function listTombstones(
  { event: { subtype, channel, message, previous_message: previous } = {} }: SlackContent,
  adapter: Pick<Adapter, 'parseMessage'>,
): readonly HeardEvent[] {
  if (subtype !== 'message_changed' || message?.subtype !== 'tombstone') return []
  if (channel === undefined || previous?.ts === undefined || previous.subtype === 'tombstone') return []
  const previousMessage = adapter.parseMessage({ ...previous, channel })
  return [{ kind: 'delete', thread: previousMessage.threadId, messageId: previous.ts, previousMessage }]
}
