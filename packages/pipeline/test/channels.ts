// Defines the address rules of two invented channels.
import { parseAddress } from '@postern/message'
import type { Channel } from '../src/ports/channel/channel.ts'
import type { ChannelDescriptor, SpeakerRules } from '../src/ports/channel/channel-descriptor.ts'

/** The rules of an invented channel of accounts, which are named `@name@host`. */
export const accounts: SpeakerRules = {
  assurance: 'address',
  identify: (_, { subject }) => subject,
  readAddress: text => (text.startsWith('@') ? { address: parseAddress(text) } : undefined),
  addressExample: { address: '@name@host', means: 'an account' },
}

/** The rules of an invented channel of mailboxes, which are named `name@host`. */
export const mailboxes: SpeakerRules = {
  assurance: 'address',
  identify: ({ local, domain }, { subject }) => (subject === `box:${local}@${domain}` ? subject : undefined),
  readAddress(text) {
    if (!/^[^@]+@[^@]+$/.test(text)) return undefined
    const address = parseAddress(text)
    return { address, subject: `box:${address.local}@${address.domain}` }
  },
  showAddress: address => address.slice(1),
  addressExample: { address: 'name@host', means: 'a mailbox' },
  isMailbox: true,
}

export function describeChannel(name: string, members: Partial<ChannelDescriptor> = {}): ChannelDescriptor {
  return { name, authMethods: [], mentionRelay: { kind: 'none' }, repeatsForMs: 0, speaker: {}, ...members }
}

/** Returns a channel with only the members that a test needs. */
export function createPartialChannel(name: string, members: Partial<Channel> = {}): Channel {
  return { descriptor: describeChannel(name), ...members } as Partial<Channel> as Channel
}
