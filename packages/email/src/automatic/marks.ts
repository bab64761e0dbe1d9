import type { AgentDirectory } from '@postern/core'
import { hopFlag } from '@postern/core'
import { formatMailbox } from '../addresses/mailbox.ts'
import type { AddressedAgent } from '../addresses/recipients.ts'
import { findRecipient } from '../addresses/recipients.ts'
import { fieldValues, findField } from '../mail/header-scan.ts'
import type { ProvenMail } from '../proven/mail.ts'
import type { AddressToken, AddressTokens } from '../tokens/address-tokens.ts'
import { hopField } from '../tokens/hop-field.ts'
import type { AgentMail } from './agent-mail.ts'
import { findAutomaticMarks, isUnread } from './facts.ts'
import { matchFieldRules } from './field-rules.ts'

interface Marking {
  readonly recipient: AddressedAgent
  readonly agents: AgentDirectory
  readonly tokens: AddressTokens
  /** Of the address the mail came to. */
  readonly token: AddressToken | undefined
  readonly messageId: string | undefined
  /** Set when an agent elsewhere wrote it. */
  readonly agentMail: AgentMail | undefined
  readonly config: { readonly answer_bcc: boolean; readonly answer_lists: boolean }
}

/** RFC 5546 §1.4: what comes back after an invitation. */
const calendarAnswers: ReadonlySet<string> = new Set(['REPLY', 'COUNTER', 'DECLINECOUNTER'])

/** Came by a list, as far as the header tells. */
export function isListMail({ header }: Pick<ProvenMail, 'header'>): boolean {
  return matchFieldRules(header).some(mark => listMarks.has(mark))
}

/**
 * Other signs of an automatic reply: vacation notices go to the envelope sender, and have none themselves (RFC 3834 §4,
 * RFC 5230 §5).
 */
const replyMarks: ReadonlySet<string> = new Set(['auto_reply', 'silence_asked', 'bounce', 'bounce_address'])

/** Is it an automatic reply of some mailbox and nothing else, such as a report, or mail of our own? */
export function isAutoReply({ header, addresses }: ProvenMail, marks: readonly string[]): boolean {
  const isReport = /^multipart\/report\b/i.test(findField(header, 'content-type') ?? '')
  const isOfServer = findField(header, 'x-failed-recipients') !== undefined || isUnread(addresses.author)
  return marks.includes('auto_reply') && marks.every(mark => replyMarks.has(mark)) && !isReport && !isOfServer
}

const listMarks: ReadonlySet<string> = new Set(['list', 'bulk'])
/** The marks of our own mail: an agent's unasked mail also offers to end it (RFC 8058). */
const agentMarks: ReadonlySet<string> = new Set(['auto_reply', 'silence_asked', 'bulk'])

/** The reasons not to answer this mail, for one of its agents; empty when a person may have written it. */
export function findMarks(mail: ProvenMail, marking: Marking): readonly string[] {
  const { recipient, agents, token, agentMail, config } = marking
  const { header, addresses, named, covered, raw, authentication } = mail
  const names = (list: ProvenMail['addresses']['to']) =>
    list.some(mailbox => findRecipient(formatMailbox(mailbox), agents)?.agent === recipient.agent)
  const isInTo = names(named.to)
  // The signature covers neither field, or both are missing, so the addressee is unknown.
  const isBare = findField(covered, 'to') === undefined && findField(covered, 'cc') === undefined
  const marks = findAutomaticMarks({
    header,
    author: addresses.author,
    envelopeFrom: raw.envelope.from,
    isVerified: authentication.isVerified,
    isInTo,
    isAddressed: config.answer_bcc || isBare || isInTo || names(named.cc),
    isOwn: isOwnMail(mail, marking),
  })
  // People answer to the header; only machines know that address.
  const isToBounces = token?.kind === 'bounce' ? ['bounce_address'] : []
  // An invitation is a person's; the answer to one that an agent sent is for its calendar.
  const answersInvitation = mail.body.details.calendar?.some(({ method }) => calendarAnswers.has(method ?? ''))
  const isTooFar = agentMail && !agentMail.chain ? [hopFlag] : []
  // Agents declare that they are machines. They may address an agent directly; a copy is for people only.
  const isMeant = agentMail && isInTo && !marks.includes('own_mail')
  const written = isMeant ? marks.filter(mark => !agentMarks.has(mark)) : marks
  const found = [...written, ...isTooFar, ...isToBounces, ...(answersInvitation ? ['calendar_reply'] : [])]
  return config.answer_lists && authentication.isVerified ? found.filter(mark => !listMarks.has(mark)) : found
}

function isOwnMail({ header, addresses, raw }: ProvenMail, { agents, tokens, messageId }: Marking): boolean {
  const senders = [formatMailbox(addresses.author), raw.envelope.from ?? '']
  return (
    senders.some(text => findRecipient(text, agents)) ||
    fieldValues(header, hopField.toLowerCase()).some(value => tokens.isOwnHop(value)) ||
    isOwnId(messageId, agents.domain)
  )
}

/** Our Message-IDs are a response's id on our domain. */
function isOwnId(messageId: string | undefined, domain: string): boolean {
  return messageId !== undefined && /^[0-9a-f]{32}@/.test(messageId) && messageId.endsWith(`@${domain}`)
}
