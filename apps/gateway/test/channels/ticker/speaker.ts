// Describes the test channel `ticker` and the identity of its senders.
import type { ChannelDescriptor } from '@postern/pipeline'

export const tickerDescriptor = {
  name: 'ticker',
  authMethods: ['ticker-seal'],
  mentionRelay: { kind: 'none' },
  repeatsForMs: 60_000,
  speaker: { assurance: 'address', identify: (_, { subject }) => subject },
} as const satisfies ChannelDescriptor
