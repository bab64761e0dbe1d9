// Finds the reasons not to answer a mail, for one of its agents.

import { hopFlag } from '@postern/message'
import type { AgentDirectory } from '@postern/pipeline'
import type { ProvenMail } from '../authenticate/proven-mail.ts'
import type { HeaderBlock } from '../mail/header.ts'
import { fieldValues, findField } from '../mail/header.ts'
import type { Mailbox } from '../mail/mailbox.ts'
import { formatMailbox } from '../mail/mailbox.ts'
import type { AddressedAgent } from '../mail/recipients.ts'
import { findRecipient } from '../mail/recipients.ts'
import type { AddressTokens } from '../tokens/address-tokens.ts'
import type { AddressToken } from '../tokens/bounce-address.ts'
import { hopField } from '../tokens/hop-field.ts'
import type { AgentMail } from './agent-mail.ts'
import { listMarks, matchMailRules } from './field-rules.ts'
import { isDaemon, isUnread } from './unread-mailbox.ts'

export interface MarkContext {
  readonly recipient: AddressedAgent
  readonly agents: AgentDirectory
  readonly tokens: AddressTokens
  /** The token of the address that the mail came to. */
  readonly token: AddressToken | undefined
  readonly messageId: string | undefined
  /** The declaration of an agent behind another gateway. Absent if no such agent wrote the mail. */
  readonly agentMail: AgentMail | undefined
  /** The recipient of the response if it is not the author, or if nobody gets one. */
  readonly reply: { readonly namedBy?: 'form' | undefined | 'list'; readonly mayReachList?: boolean | undefined }
  readonly config: { readonly answer_bcc: boolean; readonly answer_lists: boolean }
}

/** The methods of replies to an invitation (RFC 5546 §1.4). */
const calendarAnswers: ReadonlySet<string> = new Set(['REPLY', 'COUNTER', 'DECLINECOUNTER'])

/** The marks of this gateway's own mail. An agent's unasked mail also has a link to end it (RFC 8058). */
const agentMarks: ReadonlySet<string> = new Set(['auto_reply', 'silence_asked', 'bulk'])

/** The marks of a form. A program writes for it, and its visitor waits for a response. */
const formMarks: ReadonlySet<string> = new Set(['auto_reply', 'silence_asked', 'no_reply'])

/** Returns the reasons not to answer a mail, for one of its agents. It returns none if a person may have written it. */
export function findMarks(mail: ProvenMail, context: MarkContext): readonly string[] {
  const { recipient, agents, token, agentMail, reply, config } = context
  const { header, addresses, signedRecipients, signedHeader, raw, authentication, body } = mail
  const includesAgent = (mailboxes: ProvenMail['addresses']['to']) =>
    mailboxes.some(mailbox => findRecipient(formatMailbox(mailbox), agents)?.agent === recipient.agent)
  const isInTo = includesAgent(signedRecipients.to)
  // If the signature covers neither field, or both are missing, the addressee is unknown.
  const isAddressingUnknown = findField(signedHeader, 'to') === undefined && findField(signedHeader, 'cc') === undefined
  const marks = findAutomaticMarks({
    header,
    text: body.text,
    author: addresses.author,
    envelopeFrom: raw.envelope.from,
    isVerified: authentication.isVerified,
    isInTo,
    isAddressed: config.answer_bcc || isAddressingUnknown || isInTo || includesAgent(signedRecipients.cc),
    isOwn: isOwnMail(mail, context),
  })
  // People reply to the address in the header. Only machines write to a bounce address.
  const bounceAddressMarks = token?.kind === 'bounce' ? ['bounce_address'] : []
  // A person writes an invitation, but the reply to an agent's invitation is meant for its calendar.
  const answersInvitation = mail.body.details.calendar?.some(({ method }) => calendarAnswers.has(method ?? ''))
  const hopMarks = agentMail && !agentMail.chain ? [hopFlag] : []
  // Agents declare that they are machines. They may address an agent directly, but a copy is for people only.
  const isDirectAgentMail = agentMail && isInTo && !marks.includes('own_mail')
  const isExcused = (mark: string) =>
    (isDirectAgentMail && agentMarks.has(mark)) || (reply.namedBy === 'form' && formMarks.has(mark))
  const countedMarks = marks.filter(mark => !isExcused(mark))
  const allMarks = [
    ...countedMarks,
    ...hopMarks,
    ...bounceAddressMarks,
    ...(answersInvitation ? ['calendar_reply'] : []),
  ]
  if (!config.answer_lists || !authentication.isVerified) return allMarks
  if (reply.mayReachList) return [...allMarks, 'list_author_unknown']
  return allMarks.filter(mark => !listMarks.has(mark))
}

function isOwnMail({ header, addresses, raw }: ProvenMail, { agents, tokens, messageId }: MarkContext): boolean {
  const senders = [formatMailbox(addresses.author), raw.envelope.from ?? '']
  return (
    senders.some(text => findRecipient(text, agents)) ||
    fieldValues(header, hopField.toLowerCase()).some(value => tokens.isOwnHop(value)) ||
    isOwnId(messageId, agents.domain)
  )
}

/** Returns true if a Message-ID belongs to this gateway: the id of a response at the gateway's domain. */
function isOwnId(messageId: string | undefined, domain: string): boolean {
  return messageId !== undefined && /^[0-9a-f]{32}@/.test(messageId) && messageId.endsWith(`@${domain}`)
}

/** The facts that the rules judge: header fields, the envelope and the text. */
interface AutomaticFacts {
  readonly header: HeaderBlock
  /** The newest text. */
  readonly text: string
  readonly author: Mailbox
  /** MAIL FROM. It is empty for the null sender. */
  readonly envelopeFrom: string | undefined
  readonly isVerified: boolean
  /** True if the agent is in To. */
  readonly isInTo: boolean
  /** True if the agent is in To or Cc, or the mail has neither field. */
  readonly isAddressed: boolean
  /** True if the author, the envelope sender, the Message-ID or the hop field is of this gateway. */
  readonly isOwn: boolean
}

/** Rules by the envelope, the author and the addressing. */
const factRules: Readonly<Record<string, (facts: AutomaticFacts) => boolean>> = {
  own_mail: ({ isOwn }) => isOwn,
  bounce: ({ envelopeFrom, author }) => envelopeFrom === '' || isDaemon(author.local) || isDaemon(envelopeFrom ?? ''),
  no_reply: ({ author }) => isUnread(author),
  silence_asked: ({ header, isInTo, isVerified }) =>
    !(isInTo && isVerified) &&
    fieldValues(header, 'x-auto-response-suppress').some(value => /\b(?:all|autoreply|oof)\b/i.test(value)),
  not_addressed: ({ isAddressed }) => !isAddressed,
}

/** Returns the flags of all rules that match. */
function findAutomaticMarks(facts: AutomaticFacts): string[] {
  const factFlags = Object.keys(factRules).filter(flag => factRules[flag]?.(facts))
  return [...new Set([...matchMailRules(facts), ...factFlags])]
}
