import type { ChannelFacts } from '../channels/facts.ts'

/**
 * Whether a message `m` is somebody's own, as SQL; `subjects`: a JSON list of the principals of one person. Of some
 * channels the address is the principal, and what is answered in its call is of one principal alone.
 */
export function isOwnMessage(subjects: string, { sql }: ChannelFacts): string {
  const isAmong = `IN (SELECT value FROM json_each(${subjects}))`
  const address = sql.subjectOf('m.channel', "json_extract(m.envelope, '$.sender.address')")
  return `CASE WHEN m.author IS NOT NULL THEN m.author ${isAmong} WHEN ${sql.answersCalls('m.channel')} THEN true
    ELSE coalesce(${address} ${isAmong}, false) END`
}

/** Where the store keeps what was said in a thread: with the message that it is or answers. */
export const saidInThread = `entries e JOIN messages m ON m.number = coalesce(e.answers, e.seq) AND m.thread_id = e.thread_id`

/** Set apart from its channel: what came from a chat into a conversation of another channel, as SQL. */
export function isFromChat({ sql }: ChannelFacts): string {
  return `NOT (${sql.isChat('m.channel')}) AND ${sql.isChat("json_extract(m.envelope, '$.received_via')")}`
}

/** Of an entry: what somebody else than who asks (`speakers`: a JSON list of principals) said in a chat, and what was answered to it there. */
export function isOthersChat(speakers: string, channels: ChannelFacts): string {
  return `EXISTS (SELECT 1 FROM messages m WHERE m.number = coalesce(entries.answers, entries.seq)
    AND m.author NOT IN (SELECT value FROM json_each(${speakers})) AND ${isFromChat(channels)})`
}
