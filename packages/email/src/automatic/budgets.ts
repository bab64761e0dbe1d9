// Limits the responses by mail, regardless of other rules.

import type { Intake, TurnBudget } from '@postern/pipeline'
import type { ProvenMail } from '../authenticate/proven-mail.ts'
import type { AnswerBudgets } from '../config/answers.ts'
import { findField } from '../mail/header.ts'
import { formatMailbox } from '../mail/mailbox.ts'
import { isReplySubject } from '../mail/subjects.ts'
import type { TextDigests } from './text-digests.ts'

const hourMs = 3_600_000

const dayMs = 24 * hourMs

/** The fastest reply of a person, ms. Nobody reads a response and writes another mail in less time. */
const minPersonReplyMs = 10_000

/** The facts about a response that its budgets depend on. */
interface BudgetFacts {
  readonly agent: string
  readonly digests: TextDigests
  /** True if the mail names no earlier mail. */
  readonly beginsThread: boolean
  /** True if the response also goes to people other than the author (`reply_all`). */
  readonly isReplyAll: boolean
  /** The mailbox that gets the response, if it is not the author's. */
  readonly namedMailbox: string | undefined
}

/**
 * Plans the limits of a response. They stop machines that do not declare themselves, and mail to people who never wrote, because the response to a
 * forged author would go to a stranger.
 */
export function planBudgets(
  mail: ProvenMail,
  { agent, digests, beginsThread, isReplyAll, namedMailbox }: BudgetFacts,
  budgets: AnswerBudgets,
): Pick<Intake, 'quota' | 'budgets'> {
  const { addresses, authentication, header } = mail
  const correspondentKey = `${agent} ${(namedMailbox ?? formatMailbox(addresses.author)).toLowerCase()}`
  const isProven = authentication.isVerified && namedMailbox === undefined
  const proofMark = isProven ? 'v' : 'u'
  // An unproven sender who claims a name must not use up the budget of the owner of that name.
  const answerBudget: TurnBudget = {
    key: `answers ${proofMark} ${correspondentKey}`,
    turns: budgets.correspondent_per_hour,
    withinMs: hourMs,
    flag: 'correspondent_budget',
  }
  const unverifiedFlag = { flag: 'backscatter_budget' }
  const unverifiedBudgets: readonly TurnBudget[] = [
    { key: `unproven ${correspondentKey}`, turns: budgets.unverified_per_day, withinMs: dayMs, ...unverifiedFlag },
    { key: 'unproven', turns: budgets.unverified_per_hour, withinMs: hourMs, ...unverifiedFlag },
  ]
  const threadBudgets: readonly TurnBudget[] = [
    { key: 'hour', turns: budgets.thread_per_hour, withinMs: hourMs, flag: 'thread_budget' },
    { key: 'day', turns: budgets.thread_per_day, withinMs: dayMs, flag: 'thread_budget' },
    { key: `said ${digests.fullText}`, turns: budgets.repeats_per_hour, withinMs: hourMs, flag: 'repeated' },
  ]
  // A responder that starts a new thread each time escapes the limits of a thread. A person rarely repeats a text in
  // several threads, and a mail program refers to the mail that it answers.
  const isReply = isReplySubject(findField(header, 'subject') ?? '')
  const restartBudgets = [
    `began ${correspondentKey} ${digests.numberlessText}`,
    ...(isReply ? [`began re ${correspondentKey}`] : []),
  ].map(key => ({ key, turns: budgets.restarts_per_day, withinMs: dayMs, flag: 'restart_budget' }))
  const replyAllBudget: TurnBudget = {
    key: `to all ${agent} ${addresses.author.domain}`,
    turns: budgets.reply_all_per_hour,
    withinMs: hourMs,
    flag: 'reply_all_budget',
  }
  return {
    quota: { turns: budgets.rapid_per_hour, withinMs: hourMs, automatedReplyMs: minPersonReplyMs },
    budgets: [
      answerBudget,
      ...threadBudgets.map(budget => ({ ...budget, isPerThread: true }) as const),
      ...(beginsThread ? restartBudgets : []),
      ...(isProven ? [] : unverifiedBudgets),
      ...(isReplyAll ? [replyAllBudget] : []),
    ],
  }
}
