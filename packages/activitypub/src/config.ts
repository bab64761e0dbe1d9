// Defines the `activitypub` section of the configuration.
import { parseDuration, toAsciiDomain } from '@postern/message'
import { z } from 'zod'

const domainList = z
  .array(z.string().refine(name => toAsciiDomain(name) !== undefined, 'must be a domain name'))
  .default([])
const fileList = z.array(z.string().min(1, 'must name a file')).default([])

/** The schema of the `activitypub` section of the configuration. */
export const activityPubConfigSchema = z.strictObject({
  /** True to serve actors and posts to signed requests only. */
  require_signed_fetch: z.boolean().default(false),
  /** The maximum age of a signed request; Mastodon allows `12h`. */
  date_window: z
    .string()
    .regex(/^\d{1,6}[smhd]$/, 'must be a number and a unit, like "1h" or "30m"')
    .refine(
      text => parseDuration(text) >= 60_000 && parseDuration(text) <= 24 * 3_600_000,
      'must be between "1m" and "24h"',
    )
    .default('1h'),
  /** True to add a proof to each activity too (FEP-8b32), so that a server can trust a forwarded copy. */
  object_proofs: z.boolean().default(true),
  /** True to split an answer that is longer than the posts of the asking server (500 characters if its limit is unknown). */
  split_posts: z.boolean().default(true),
  /** True to fetch and store pictures and other files of posts to an agent, as far as `web.attachments` accepts them. */
  keep_files: z.boolean().default(true),
  /** The policy for followers of agents: everybody may follow (`open`), the operator accepts each one (`manual`), or nobody may (`closed`). */
  follows: z.enum(['open', 'manual', 'closed']).default('open'),
  /** The most people that one post may address. Agents do not see posts that address more. */
  max_mentions: z.int().min(1).max(300).default(50),
  /** The most turns in an hour that automated senders may cause in one thread, so that two bots do not answer each other for ever. */
  bot_turns_per_hour: z.int().min(0).max(10_000).default(10),
  /**
   * The most turns in an hour that all other senders may cause in one thread. Only messages that arrive within three seconds after an answer
   * count.
   */
  rapid_turns_per_hour: z.int().min(1).max(10_000).default(20),
  /** The domains whose actors the gateway rejects, with all their sub-domains. */
  block: domainList,
  /** The only domains that the gateway deals with, and their sub-domains. If the list is empty, all domains are allowed. */
  allow: domainList,
  /** The files with more domains for `block`: Mastodon's export, or one domain a line. The gateway merges them into the list when it starts. */
  block_files: fileList,
  /** The files with more domains for `allow`, one a line. */
  allow_files: fileList,
})

export type ActivityPubConfig = z.infer<typeof activityPubConfigSchema>
