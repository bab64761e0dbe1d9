// Defines the settings of answers by mail, with the budgets that stop mail loops.
import { z } from 'zod'
import { count, countOrNone } from './limits.ts'

/** The maximum numbers of answers, regardless of other rules. A mail beyond a limit is stored, and the operator sees the reason. */
const answerBudgetsSchema = z.strictObject({
  /** Answers of one agent to one correspondent per hour. */
  correspondent_per_hour: count(20),
  /** Answers in one thread per hour. */
  thread_per_hour: count(10),
  /** Answers in one thread per day. */
  thread_per_day: count(50),
  /** Messages in one thread per hour that arrive within ten seconds of an answer. Nobody types that fast. */
  rapid_per_hour: count(5),
  /** Messages with the same text in one thread per hour. */
  repeats_per_hour: count(2),
  /** Answers per day to an author who begins each thread with the same text apart from numbers, or with `Re:` and no reference. */
  restarts_per_day: count(5),
  /** Answers of one agent per day to one unproven author, who may never have written. */
  unverified_per_day: count(20),
  /** Answers of the whole gateway per hour to all unproven authors together. */
  unverified_per_hour: count(100),
  /** Answers of one agent per hour to everybody (`reply_all`) for authors of one domain. Each of these answers may reach twenty people. */
  reply_all_per_hour: count(20),
})

/** The settings of the `email` configuration for answers. */
export const answerConfigShape = {
  /** True if the gateway answers mail that names the agent neither in To nor in Cc (forwarded mail, a blind copy). */
  answer_bcc: z.boolean().default(false),
  /** True if the gateway answers what a proven author wrote through a mailing list. The answer goes to the author alone, never to the list. */
  answer_lists: z.boolean().default(false),
  /** True if agents read automatic replies, such as vacation notices. The gateway never answers one. */
  show_auto_replies: z.boolean().default(false),
  /** True if the gateway tells a proven author of an encrypted mail that the agent cannot read it: once per conversation, and once per day. */
  encrypted_notice: z.boolean().default(true),
  /** True if an answer to a proven author also goes to everybody in To and Cc of the mail. */
  reply_all: z.boolean().default(false),
  /** True if an answer quotes the answered mail below its text. */
  quote: z.boolean().default(false),
  /** Mailboxes and domains that a Reply-To may name although the author's domain is a different one. */
  reply_to_allow: z.array(z.string().min(1)).default([]),
  /** Mailboxes and domains of contact forms. The answer goes to the visitor, whom the Reply-To of a proven mail names. */
  reply_to_from: z.array(z.string().min(1)).default([]),
  /** Mailboxes and domains that agents may write to first. `correspondents` stands for proven people who wrote to the agent. */
  write_to: z.array(z.string().min(1)).default([]),
  /** The number of days after a correspondent's last mail in which an agent may write to them first. */
  write_to_days: z.int().min(1).max(3_650).default(30),
  /** True if each answer has its own address for replies, so that replies without References find their thread. */
  reply_tokens: z.boolean().default(true),
  /** The maximum number of bytes of the files in one mail, before base64. Larger files become links. */
  attach_bytes: countOrNone(18 * 1024 * 1024),
  /** The limits on answers by mail. In dev mode they are off unless they are set. */
  budgets: answerBudgetsSchema.prefault({}),
} as const

export type AnswerBudgets = z.infer<typeof answerBudgetsSchema>

/** Budgets that developers do not reach when they send the same text again and again. */
export const devBudgets = Object.fromEntries(Object.keys(answerBudgetsSchema.shape).map(budget => [budget, 1_000_000]))
