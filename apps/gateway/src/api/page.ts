import { channelNameSchema } from '@postern/core'
import { z } from 'zod'

/** Most items of one page. */
const maxPage = 500

/** The next page of any list: everything behind `after`. */
export const pageParameters = {
  limit: z.int().min(1).max(maxPage).default(50).describe('Most items of the page.'),
  after: z.int().min(0).optional().describe('`next` of the page before.'),
}

const instant = z.iso.datetime({ offset: true, error: 'must be an instant such as 2026-01-31T12:00:00Z' })
const word = z.string().min(1).max(200)

/** What lists may be filtered by; each list takes those that mean something there. */
export const listFilters = {
  agent: word.optional().describe('Only of this agent.'),
  channel: channelNameSchema.optional().describe('Only by this channel.'),
  sender: word.optional().describe('Only of senders whose address contains this, in any case.'),
  flag: word.optional().describe('Only with this flag.'),
  since: instant.optional().describe('Not before this instant, ISO 8601.'),
  until: instant.optional().describe('Before this instant, ISO 8601.'),
  text: word.optional().describe('Only where the text contains this, in any case.'),
}

/** One page of a list. */
export function pageOf<Item>(item: z.ZodType<Item>) {
  return z.object({
    items: z.array(item).readonly(),
    /** Goes on with `after`; a page may have few items, or none, and still have a next one. */
    next: z.int().nullable().describe('`after` of the next page; null on the last one.'),
  })
}
