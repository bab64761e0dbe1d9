import { z } from 'zod'
import { count, countOrNone } from './limits.ts'

/** How often is answered, however good the reasons. What exceeds one is kept, and the operator sees why. */
const answerBudgetsSchema = z.strictObject({
  /** Answers of one agent to one correspondent in an hour. */
  correspondent_per_hour: count(20),
  /** Answers in one thread in an hour. */
  thread_per_hour: count(10),
  /** Answers in one thread in a day. */
  thread_per_day: count(50),
  /** Messages in one thread in an hour that come within ten seconds after an answer: nobody types that fast. */
  rapid_per_hour: count(5),
  /** Messages in one thread in an hour that say the same. */
  repeats_per_hour: count(2),
  /** Answers of one agent in a day to one author who is not proven, and so may never have written. */
  unverified_per_day: count(20),
  /** Answers of the whole gateway in an hour to all authors who are not proven. */
  unverified_per_hour: count(100),
  /** Answers to everybody (`reply_all`) in an hour, by one agent to authors of one domain: each may reach twenty people. */
  reply_all_per_hour: count(20),
})

/** What the `email` configuration says about answers. */
export const answerConfigShape = {
  /** Answer mail that names the agent neither in To nor in Cc (a forwarding, a blind copy). */
  answer_bcc: z.boolean().default(false),
  /** Answer what a proven author wrote through a mailing list: the author alone, never the list. */
  answer_lists: z.boolean().default(false),
  /** Give agents automatic replies (a vacation notice) to read; the gateway sends no answers to one. */
  show_auto_replies: z.boolean().default(false),
  /** Tell a proven author of an encrypted mail that the agent cannot read it: once in a conversation, once a day. */
  encrypted_notice: z.boolean().default(true),
  /** Answer everybody who stood in To and Cc of a proven author's mail. */
  reply_all: z.boolean().default(false),
  /** Quote the answered mail below the answer. */
  quote: z.boolean().default(false),
  /** Mailboxes and domains that a Reply-To may name, although the author's domain is another. */
  reply_to_allow: z.array(z.string().min(1)).default([]),
  /** Mailboxes and domains that agents may write to first. */
  write_to: z.array(z.string().min(1)).default([]),
  /** Give each answer an address of its own to reply to, so that replies find their thread without References. */
  reply_tokens: z.boolean().default(true),
  /** Bytes, before base64, of the files in one mail; larger ones become links. */
  attach_bytes: countOrNone(18 * 1024 * 1024),
  /** How many answers go out by mail at most; off in dev mode unless set. */
  budgets: answerBudgetsSchema.prefault({}),
} as const

export type AnswerBudgets = z.infer<typeof answerBudgetsSchema>

/** For who tries things out, and sends the same words again and again. */
export const endlessBudgets = Object.fromEntries(
  Object.keys(answerBudgetsSchema.shape).map(budget => [budget, 1_000_000]),
)
