import { z } from 'zod'

const count = (most: number) => z.number().int().positive().default(most)

/** How often is answered, however good the reasons. What exceeds one is kept, and the operator sees why. */
const answerBudgetsSchema = z.strictObject({
  /** To one correspondent, by one agent. */
  correspondent_per_hour: count(20),
  thread_per_hour: count(10),
  thread_per_day: count(50),
  /** Messages in one thread that come within ten seconds of our answer, in an hour: nobody types that fast. */
  rapid_per_hour: count(5),
  /** The same words in one thread within an hour. */
  repeats_per_hour: count(2),
  /** To an author who is not proven, and so may never have written, by one agent. */
  unverified_per_day: count(20),
  /** To all of those together, by the whole gateway. */
  unverified_per_hour: count(100),
  /** Answers to everybody (`reply_all`), by one agent to mail of authors of one domain: each may reach twenty people. */
  reply_all_per_hour: count(20),
})

/** What the `email` configuration says about answers. */
export const answerConfigShape = {
  /** Answer mail that reached an agent without naming it in To or Cc (a forwarding, a blind copy). */
  answer_bcc: z.boolean().default(false),
  /** Answer what a proven author wrote to an agent by way of a mailing list: the author alone, never the list. */
  answer_lists: z.boolean().default(false),
  /** Give agents automatic replies (a vacation notice) to read. Whatever they say to one is not sent. */
  show_auto_replies: z.boolean().default(false),
  /** Tell a proven author whose mail is encrypted that it cannot be read: once in a conversation, once a day. */
  encrypted_notice: z.boolean().default(true),
  /** Answer everybody who stood in To and Cc of a proven author's mail. */
  reply_all: z.boolean().default(false),
  /** Write what is answered under the answer. */
  quote: z.boolean().default(false),
  /** Mailboxes and domains that a Reply-To may name although its author's domain is another. */
  reply_to_allow: z.array(z.string().min(1)).default([]),
  /** Mailboxes and domains that agents may write to without having been written to. */
  write_to: z.array(z.string().min(1)).default([]),
  /** Give each answer an address of its own to reply to, so that replies find their thread without References. */
  reply_tokens: z.boolean().default(true),
  /** Files larger than this together are linked, not attached. Octets before base64. */
  attach_bytes: z
    .number()
    .int()
    .nonnegative()
    .default(18 * 1024 * 1024),
  budgets: answerBudgetsSchema.prefault({}),
} as const

export type AnswerBudgets = z.infer<typeof answerBudgetsSchema>
