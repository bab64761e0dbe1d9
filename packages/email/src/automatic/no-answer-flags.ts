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
import { mailingListFlags, matchMailRules } from './field-rules.ts'
import { isDaemon, isUnattended } from './unattended-mailbox.ts'

/** The recipient of a mail, and the facts about the mail that the reasons depend on. */
export interface NoAnswerContext {
  readonly recipient: AddressedAgent
  readonly agents: AgentDirectory
  readonly tokens: AddressTokens
  /** The token of the address that the mail came to. */
  readonly token: AddressToken | undefined
  readonly messageId: string | undefined
  /** The declaration of an agent behind another gateway. It is undefined if no such agent wrote the mail. */
  readonly agentMail: AgentMail | undefined
  /** The choice of the mailbox for replies: who named it, and whether it may be the list itself. */
  readonly reply: { readonly namedBy?: 'form' | undefined | 'list'; readonly mayReachList?: boolean | undefined }
  readonly config: { readonly answer_bcc: boolean; readonly answer_lists: boolean }
}

/** The methods of replies to an invitation (RFC 5546 §1.4). */
const calendarAnswers: ReadonlySet<string> = new Set(['REPLY', 'COUNTER', 'DECLINECOUNTER'])

/** The flags of mail that agents of a gateway send. Their unasked mail also has a link to unsubscribe (RFC 8058). */
const agentMailFlags: ReadonlySet<string> = new Set(['auto_reply', 'silence_asked', 'bulk'])

/** The flags of mail from a contact form. A program sends it, and the visitor of the form waits for a response. */
const formMailFlags: ReadonlySet<string> = new Set(['auto_reply', 'silence_asked', 'no_reply'])

/**
 * Returns the reasons not to answer a mail, for one of its agents. The list is empty if a person may have written the
 * mail to the agent.
 */
export function findNoAnswerFlags(mail: ProvenMail, context: NoAnswerContext): readonly string[] {
  const { recipient, agents, token, agentMail, reply, config } = context
  const { header, addresses, signedRecipients, signedHeader, raw, authentication, body } = mail
  const includesAgent = (mailboxes: ProvenMail['addresses']['to']) =>
    mailboxes.some(mailbox => findRecipient(formatMailbox(mailbox), agents)?.agent === recipient.agent)
  const isInTo = includesAgent(signedRecipients.to)
  // If the signature covers neither To nor Cc, or both are missing, the addressee is unknown.
  const isAddressingUnknown = findField(signedHeader, 'to') === undefined && findField(signedHeader, 'cc') === undefined
  const automaticFlags = matchAutomaticRules({
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
  const bounceAddressFlags = token?.kind === 'bounce' ? ['bounce_address'] : []
  // A person writes an invitation, but the reply to an agent's invitation is meant for the calendar of the agent.
  const answersInvitation = mail.body.details.calendar?.some(({ method }) => calendarAnswers.has(method ?? ''))
  const hopFlags = agentMail && !agentMail.chain ? [hopFlag] : []
  // Agents declare that they are machines. They may address another agent in To, but they send copies only to people.
  const isDirectAgentMail = agentMail && isInTo && !automaticFlags.includes('own_mail')
  const isExcused = (flag: string) =>
    (isDirectAgentMail && agentMailFlags.has(flag)) || (reply.namedBy === 'form' && formMailFlags.has(flag))
  const remainingFlags = automaticFlags.filter(flag => !isExcused(flag))
  const noAnswerFlags = [
    ...remainingFlags,
    ...hopFlags,
    ...bounceAddressFlags,
    ...(answersInvitation ? ['calendar_reply'] : []),
  ]
  if (!config.answer_lists || !authentication.isVerified) return noAnswerFlags
  if (reply.mayReachList) return [...noAnswerFlags, 'list_author_unknown']
  return noAnswerFlags.filter(flag => !mailingListFlags.has(flag))
}

function isOwnMail({ header, addresses, raw }: ProvenMail, { agents, tokens, messageId }: NoAnswerContext): boolean {
  const senders = [formatMailbox(addresses.author), raw.envelope.from ?? '']
  return (
    senders.some(text => findRecipient(text, agents)) ||
    fieldValues(header, hopField.toLowerCase()).some(value => tokens.isOwnHop(value)) ||
    isOwnMessageId(messageId, agents.domain)
  )
}

/** Returns true if a Message-ID belongs to this gateway: the id of a response at the gateway's domain. */
function isOwnMessageId(messageId: string | undefined, domain: string): boolean {
  return messageId !== undefined && /^[0-9a-f]{32}@/.test(messageId) && messageId.endsWith(`@${domain}`)
}

/** The facts that the rules judge: header fields, the envelope and the text. */
interface AutomaticFacts {
  readonly header: HeaderBlock
  /** The newest text of the mail. */
  readonly text: string
  readonly author: Mailbox
  /** MAIL FROM. It is empty for the null sender. */
  readonly envelopeFrom: string | undefined
  readonly isVerified: boolean
  /** True if the agent is in To. */
  readonly isInTo: boolean
  /** True if the agent is in To or Cc, or the mail has neither field. */
  readonly isAddressed: boolean
  /** True if the author, the envelope sender, the Message-ID or the hop field belongs to this gateway. */
  readonly isOwn: boolean
}

/** Rules by the envelope, the author and the addressing. */
const factRules: Readonly<Record<string, (facts: AutomaticFacts) => boolean>> = {
  own_mail: ({ isOwn }) => isOwn,
  bounce: ({ envelopeFrom, author }) => envelopeFrom === '' || isDaemon(author.local) || isDaemon(envelopeFrom ?? ''),
  no_reply: ({ author }) => isUnattended(author),
  silence_asked: ({ header, isInTo, isVerified }) =>
    !(isInTo && isVerified) &&
    fieldValues(header, 'x-auto-response-suppress').some(value => /\b(?:all|autoreply|oof)\b/i.test(value)),
  not_addressed: ({ isAddressed }) => !isAddressed,
}

/** Returns the flags of all rules that match. */
function matchAutomaticRules(facts: AutomaticFacts): string[] {
  const factFlags = Object.keys(factRules).filter(flag => factRules[flag]?.(facts))
  return [...new Set([...matchMailRules(facts), ...factFlags])]
}
