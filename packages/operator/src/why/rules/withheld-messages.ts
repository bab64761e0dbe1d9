// Explains messages that the gateway withheld from agents.
import type { WhyFacts } from '../facts.ts'
import type { FixTexts, Reason, Rule } from '../reason.ts'
import { formatUtcTime, writeFix } from '../reason.ts'

/** The reason why the gateway withheld a message with this flag. */
interface WithheldCase extends Partial<FixTexts<WhyFacts>> {
  readonly code: string
  readonly why: string
}

const loopFix =
  'Two programs answer each other. If you want the exchange, raise limits.loop.agent_turns_per_hour, pair_turns_per_hour, turns_without_person or similar_turns. For bots of the fediverse raise activitypub.bot_turns_per_hour, for mail email.budgets.'

const listReason = 'it came by a list or as bulk mail'
const oddMailFlags = ['mime_limits', 'duplicate_header', 'unparsable', 'parser_killed', 'signature_flood']

/** The cases by flag, in order of precedence. A message with several flags has the first matching case. */
const casesByFlag: Readonly<Record<string, WithheldCase>> = {
  edit_applied: {
    code: 'edit_applied',
    why: 'it changed a message that was still open, so the agent got the new words and answers those',
    fix: 'Nothing to fix: look at the message that it changed.',
    command: ({ message: { changed } }) => (changed === undefined ? undefined : `npx postern why "#${changed}"`),
  },
  not_allowed: {
    code: 'not_allowed',
    why: "the agent's access list does not let this sender speak to it",
    fix: ({ message: { agent } }) =>
      `Change agents.${agent}.allow or agents.${agent}.deny if you want to hear the sender.`,
  },
  blocked_by: {
    code: 'blocked_by',
    why: 'the sender blocks the agent, and the gateway does not write to somebody who blocks it',
    fix: 'Only the sender can end it: they have to unblock the agent.',
  },
  dmarc_quarantine: {
    code: 'quarantined',
    why: "nothing proves its author, and the DMARC policy of the author's domain asks for quarantine",
    fix: 'The sender has to mail with a DKIM signature or an SPF host of that domain. Name a server in front that checks mail in email.trust. For mail under p=reject email.trust.dmarc_reject decides.',
  },
  hop_limit: {
    code: 'hop_limit',
    why: 'agents have passed it on more often than limits.loop.max_hops allows',
    fix: 'Let the agents pass on less, or raise limits.loop.max_hops.',
  },
  loop_guard: {
    code: 'loop_guard',
    why: 'the loop guard stopped it: it would go round in a circle',
    fix: loopFix,
  },
  not_addressed: {
    code: 'not_addressed',
    why: 'the agent stands neither in To nor in Cc, as in a blind copy or a forwarded mail',
    fix: 'Set email.answer_bcc to true if agents should answer such mail.',
  },
  mass_mention: {
    code: 'mass_mention',
    why: 'it addresses more people than activitypub.max_mentions, so nobody in particular',
    fix: 'Raise activitypub.max_mentions if agents should answer such posts.',
  },
  ...createCases('rate_limited', 'Wait until the time of the budget is over, or raise it in email.budgets.', {
    thread_budget: 'its thread got as many answers by mail as email.budgets allows',
    correspondent_budget: 'its sender got as many answers by mail as email.budgets allows',
    repeated: 'the same words came more often than email.budgets allows',
    restart_budget: 'its sender begins a thread each time as programs do, more often than email.budgets allows',
    backscatter_budget: 'nothing proves its author, and few answers go to such addresses',
    reply_all_budget: 'as many answers to everybody went out as email.budgets allows',
  }),
  ...createCases('automatic', 'Nothing is wrong: no person waits for an answer.', {
    own_mail: 'it is mail of this gateway that came back',
    bounce_address: 'it came to the address for bounces, which only machines know',
    bounce_hard: 'it reports that a mail of ours cannot arrive',
    bounce_soft: 'it reports that a mail of ours comes late',
    bounce: 'it is a report of a mail server',
    delivery_delayed: 'it reports that a mail of ours comes late',
    delivery_confirmed: 'it reports that a mail of ours has arrived',
    feedback_report: 'it reports a complaint about mail of ours',
    disposition_notice: 'it reports that somebody read a mail of ours',
    calendar_reply: 'it is the answer of a calendar',
    auto_reply: 'a program wrote it: it is an automatic reply',
    silence_asked: 'it asks that no program answers it',
    no_reply: 'nobody reads the mailbox that it comes from',
  }),
  list_author_unknown: {
    code: 'automatic',
    why: 'it came by a list that stands in From itself, and nothing proven names the person who wrote it',
    fix: 'Nothing is wrong: an answer would go to the whole list.',
  },
  ...createCases(
    'automatic',
    'Set email.answer_lists to true if agents should answer proven authors who write by a list.',
    {
      list: listReason,
      bulk: listReason,
    },
  ),
  ...createCases(
    'unsafe',
    'Look at it before you trust it. Limits for honest mail are in email.limits.',
    Object.fromEntries(oddMailFlags.map(flag => [flag, `it is too odd for an agent (${flag})`])),
  ),
  ...createCases('event', undefined, {
    follow_request: 'it asks to follow the agent, and an operator decides',
    follow_refused: 'it asks to follow the agent, and the gateway refuses that',
    report: 'it is a report to moderators',
    moved: 'it says that an account has moved',
    unblocked: 'it says that the sender blocks the agent no longer',
    readdressed: 'it says that a follower has a new inbox',
    actor_update: 'it tells of a new profile',
    actor_delete: 'it tells of the end of the agent',
    unsubscribed: 'it ends mail that the agent writes unasked',
    operator: 'it records what an operator did',
    operator_notice: 'it is a notice to an operator',
    linked_copy: 'it is the copy of an answer for another address of the person',
    link_notice: 'it is the message with a code that links an address',
    post: 'it is what the agent posted of itself',
  }),
}

export const withheldCases = Object.entries(casesByFlag)

/** Creates cases that differ only in their sentence. */
function createCases(
  code: string,
  fix: string | undefined,
  reasons: Readonly<Record<string, string>>,
): Record<string, WithheldCase> {
  return Object.fromEntries(Object.entries(reasons).map(([flag, why]) => [flag, { code, why, ...(fix && { fix }) }]))
}

/** Explains a message that no agent got. */
export const withheldMessage: Rule<WhyFacts> = facts => {
  if (facts.turn) return undefined
  const { message, now } = facts
  const receivedTime = formatUtcTime(message.receivedAt, now)
  const [, matchingCase] = withheldCases.find(([flag]) => message.flags.includes(flag)) ?? []
  if (matchingCase) return writeReason(matchingCase, facts, receivedTime)
  return {
    code: 'kept',
    sentence: `No answer: it came at ${receivedTime} and its channel gives such a message (${message.kind}) to no agent`,
    since: message.receivedAt,
  }
}

function writeReason({ code, why, fix, command }: WithheldCase, facts: WhyFacts, receivedTime: string): Reason {
  const verb = code === 'event' ? 'No answer is due' : 'Not answered'
  const sentence = `${verb}: ${why}, at ${receivedTime}`
  const formattedFix = fix === undefined ? undefined : writeFix({ fix, command }, facts)
  return { code, sentence, since: facts.message.receivedAt, fix: formattedFix }
}

/** Explains a message that its author deleted, or whose task was canceled. */
export const takenBackMessage: Rule<WhyFacts> = ({ message, turn, now }) => {
  const { forgottenAt } = message
  if (forgottenAt !== undefined) {
    const sentence = `No longer answered: its author took it back at ${formatUtcTime(forgottenAt, now)}`
    return { code: 'taken_back', sentence, since: forgottenAt }
  }
  if (turn?.endedAt === undefined || turn.error !== 'canceled') return undefined
  const sentence = `Not answered: its task was canceled at ${formatUtcTime(turn.endedAt, now)}`
  return { code: 'canceled', sentence, since: turn.endedAt }
}
