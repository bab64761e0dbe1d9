import { parseDuration, toAsciiDomain } from '@postern/core'
import { z } from 'zod'

const domainList = z
  .array(z.string().refine(name => toAsciiDomain(name) !== undefined, 'must be a domain name'))
  .default([])
const fileList = z.array(z.string().min(1, 'must name a file')).default([])

/** This protocol's slice of the configuration. */
export const activityPubConfigSchema = z.strictObject({
  /** Serve actors and posts to signed requests only. */
  require_signed_fetch: z.boolean().default(false),
  /** How old a signed request may be; Mastodon allows `12h`. */
  date_window: z
    .string()
    .regex(/^\d{1,6}[smhd]$/, 'must be a number and a unit, like "1h" or "30m"')
    .refine(
      text => parseDuration(text) >= 60_000 && parseDuration(text) <= 24 * 3_600_000,
      'must be between "1m" and "24h"',
    )
    .default('1h'),
  /** Sign each activity itself too (FEP-8b32), so that a server can believe a forwarded copy. */
  object_proofs: z.boolean().default(true),
  /** Divide an answer into a thread if it is longer than the asking server's posts (500 characters if that is unknown). */
  split_posts: z.boolean().default(true),
  /** Fetch and store pictures and other files of posts to an agent, as far as `web.attachments` accepts them. */
  keep_files: z.boolean().default(true),
  /** Who may follow agents: everybody (`open`), whom the operator accepts (`manual`), nobody (`closed`). */
  follows: z.enum(['open', 'manual', 'closed']).default('open'),
  /** The number of people that one post may address; agents do not see posts that address more. */
  max_mentions: z.int().min(1).max(300).default(50),
  /** Turns of one thread that automated senders may take in an hour, so that two bots do not answer each other for ever. */
  bot_turns_per_hour: z.int().min(0).max(10_000).default(10),
  /** Turns of one thread in an hour for all other senders; only messages count that arrive within three seconds after an answer. */
  rapid_turns_per_hour: z.int().min(1).max(10_000).default(20),
  /** Domains whose actors the gateway refuses, with all their sub-domains. */
  block: domainList,
  /** If it names any, the gateway deals only with these domains and their sub-domains. */
  allow: domainList,
  /** Files with more domains for `block`: Mastodon's export, or one domain a line. The gateway merges them into the list at the start. */
  block_files: fileList,
  /** Files with more domains for `allow`, one a line. */
  allow_files: fileList,
})

export type ActivityPubConfig = z.infer<typeof activityPubConfigSchema>
