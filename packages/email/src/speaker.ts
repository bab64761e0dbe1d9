// Describes the email channel to the gateway, and identifies its senders.
import type { Address } from '@postern/message'
import { parseIfAddress } from '@postern/message'
import type { ChannelDescriptor, SpeakerRules } from '@postern/pipeline'

/**
 * The rules that identify a sender. The principal of a mailbox is `mailto:` and the address in lower case, because most
 * programs ignore the case of a local part.
 */
const speaker: SpeakerRules = {
  assurance: 'address',
  identify(address, { subject }) {
    const ownSubject = formatMailSubject(address)
    return subject.toLowerCase() === ownSubject ? ownSubject : undefined
  },
  readAddress(text) {
    const plainText = text.replace(/^mailto:/i, '')
    if (/^(@|acct:|https:)/i.test(plainText)) return undefined
    const address = parseIfAddress(plainText)
    return address && { address, subject: formatMailSubject(address) }
  },
  showAddress: address => address.slice(1),
  addressExample: { address: 'name@example.org', means: 'a mailbox' },
  subjectScheme: 'mailto:',
  isMailbox: true,
  ignoresCase: true,
}

function formatMailSubject({ local, domain }: Address): string {
  return `mailto:${local}@${domain}`
}

export const emailDescriptor = {
  name: 'email',
  authMethods: ['email-dkim', 'email-dmarc'],
  isSimulated: true,
  mentionRelay: { kind: 'recipient-field', fields: ['to', 'cc'] },
  // Mail servers retry for four to five days (RFC 5321 §4.5.4.1), and some for a week.
  repeatsForMs: 7 * 24 * 3_600_000,
  // Files of responses are stored once, by their digest. A mail attaches the stored files, or links to files that are
  // too large.
  addressesFiles: true,
  speaker,
} as const satisfies ChannelDescriptor
