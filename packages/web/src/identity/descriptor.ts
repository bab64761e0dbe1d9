import type { ChannelDescriptor, SpeakerRules } from '@postern/core'
import { parseAddress } from '@postern/core'
import { readOwnerKey } from './owner-key.ts'
import { formatChatOwner } from './speaker.ts'

/** Whoever chats is who the issuer of the token says; hosts of those who chat are `web.<domain>` and what is below. */
const speaker: SpeakerRules = {
  assurance: 'oauth',
  identify: (_, { issuer, subject }) => formatChatOwner(issuer, subject),
  readAddress(text, domain) {
    if (domain === undefined) return undefined
    try {
      const address = parseAddress(text)
      return `.${address.domain}`.endsWith(`.web.${domain}`) ? { address } : undefined
    } catch {
      return undefined
    }
  },
  isChat: true,
  readOwner: readOwnerKey,
}

export const webDescriptor = {
  name: 'web',
  authMethods: ['a2a-jwt', 'a2a-oauth'],
  mentionRelay: { kind: 'none' },
  answersCalls: true,
  speaker,
} as const satisfies ChannelDescriptor
