// Describes the A2A channel and the scope of a caller's token.
import { ownerOf } from '@postern/http/tokens'
import type { ChannelDescriptor } from '@postern/pipeline'

/** The descriptor of the A2A channel. The issuer of a token names the caller, so people cannot link that name to themselves. */
export const a2aDescriptor = {
  name: 'a2a',
  authMethods: ['a2a-jwt', 'a2a-oauth'],
  isSimulated: true,
  mentionRelay: { kind: 'none' },
  answersCalls: true,
  streamsAnswers: true,
  // A client that was offline for a weekend may repeat its call.
  repeatsForMs: 3 * 24 * 3_600_000,
  openPaths: ['a2a', 'agents'],
  operationPaths: /^(\/agents\/[^/]+)?\/a2a\/rest\//,
  speaker: { scopeOfToken: (issuer, subject) => ownerOf({ issuer, claim: 'sub', value: subject }) },
} as const satisfies ChannelDescriptor
