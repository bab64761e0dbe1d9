import type { Address, ChannelDescriptor, SpeakerRules } from '@postern/core'
import { parseIfAddress } from '@postern/core'

/** A mailbox is its own principal, in lower case: `mailto:` and the address. Most programs write a local part in whatever case. */
const speaker: SpeakerRules = {
  assurance: 'address',
  identify(address, { subject }) {
    const own = formatMailSubject(address)
    return subject.toLowerCase() === own ? own : undefined
  },
  readAddress(text) {
    const bare = text.replace(/^mailto:/i, '')
    if (/^(@|acct:|https:)/i.test(bare)) return undefined
    const address = parseIfAddress(bare)
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
  speaker,
} as const satisfies ChannelDescriptor
