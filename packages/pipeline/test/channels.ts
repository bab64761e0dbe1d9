import { parseAddress } from '@postern/message'
import type { Channel } from '../src/ports/channel/channel.ts'
import type { ChannelDescriptor, SpeakerRules } from '../src/ports/channel/channel-descriptor.ts'

/** Channels of two made-up kinds: of accounts, named by `@name@host`, and of mailboxes, named by `name@host`. */
export const accounts: SpeakerRules = {
  assurance: 'address',
  identify: (_, { subject }) => subject,
  readAddress: text => (text.startsWith('@') ? { address: parseAddress(text) } : undefined),
  addressExample: { address: '@name@host', means: 'an account' },
}
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

/** A channel of which no more is there than the test needs. */
export function sketchChannel(name: string, members: Partial<Channel> = {}): Channel {
  return { descriptor: describeChannel(name), ...members } as Partial<Channel> as Channel
}
