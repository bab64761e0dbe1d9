import type { ChannelDescriptor } from '@postern/core'
import { ownerOf } from '@postern/http/tokens'

/** Who calls is named by the issuer of a token: nobody links such a name. */
export const a2aDescriptor = {
  name: 'a2a',
  authMethods: ['a2a-jwt', 'a2a-oauth'],
  isSimulated: true,
  mentionRelay: { kind: 'none' },
  answersCalls: true,
  speaker: { scopeOfToken: (issuer, subject) => ownerOf({ issuer, claim: 'sub', value: subject }) },
} as const satisfies ChannelDescriptor
