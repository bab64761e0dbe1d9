import type { ChannelDescriptor } from '@postern/core'

export const tickerDescriptor = {
  name: 'ticker',
  authMethods: ['ticker-seal'],
  mentionRelay: { kind: 'none' },
  speaker: { assurance: 'address', identify: (_, { subject }) => subject },
} as const satisfies ChannelDescriptor
