// Describes one channel of each kind to the stores under test.

import { parseAddress } from '@postern/message'
import type { ChannelDescriptor } from '@postern/pipeline'

const weekMs = 7 * 24 * 3_600_000

const account: ChannelDescriptor = {
  name: 'activitypub',
  authMethods: ['ap-http-signature', 'ap-object-integrity-proof'],
  mentionRelay: { kind: 'addressing', envelope_fields: ['to', 'cc'], also_inline: true },
  repeatsForMs: weekMs,
  speaker: { assurance: 'address', identify: (_, { subject }) => subject, ownsDomain: true, answersInPrivate: true },
}

const callDescriptor: ChannelDescriptor = {
  name: 'a2a',
  authMethods: ['a2a-jwt', 'a2a-oauth'],
  mentionRelay: { kind: 'none' },
  answersCalls: true,
  streamsAnswers: true,
  repeatsForMs: weekMs,
  speaker: {},
}

const mailbox: ChannelDescriptor = {
  name: 'email',
  authMethods: ['email-dkim', 'email-dmarc'],
  mentionRelay: { kind: 'recipient-field', fields: ['to', 'cc'] },
  repeatsForMs: weekMs,
  speaker: {
    assurance: 'address',
    identify: ({ local, domain }) => `mailto:${local}@${domain}`,
    readAddress: text => (/^[^@]+@[^@]+$/.test(text) ? { address: parseAddress(text) } : undefined),
    subjectScheme: 'mailto:',
    isMailbox: true,
    ignoresCase: true,
  },
}

const chat: ChannelDescriptor = {
  name: 'web',
  authMethods: ['a2a-oauth'],
  mentionRelay: { kind: 'none' },
  answersCalls: true,
  streamsAnswers: true,
  repeatsForMs: weekMs,
  speaker: {
    assurance: 'oauth',
    identify: (_, { issuer, subject }) => `web:${JSON.stringify([issuer, subject])}`,
    isChat: true,
  },
}

/** The channels of the stores under test: accounts, calls, mailboxes and chats, described as the gateway's own channels describe themselves. */
export const sketchedChannels: readonly ChannelDescriptor[] = [account, callDescriptor, mailbox, chat]
