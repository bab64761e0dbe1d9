import type { ChannelDescriptor, SpeakerRules } from '@postern/core'
import { parseIfAddress } from '@postern/core'

/**
 * An actor is a principal of its own, and its key proves it. `@name@host`, `acct:name@host` and `https://host/@name`
 * name one. Programs of the fediverse often shorten a mention to the name.
 */
const speaker: SpeakerRules = {
  assurance: 'address',
  identify: (_, { subject }) => subject,
  readAddress(text) {
    const bare = text.replace(/^https:\/\/([^/@]+)\/@([^/@]+)\/?$/i, '@$2@$1')
    if (!/^(@|acct:)/i.test(bare)) return undefined
    const address = parseIfAddress(bare)
    return address && { address }
  },
  addressExample: { address: 'acct:name@server.example', means: 'an account of the fediverse' },
  ownsDomain: true,
  answersInPrivate: true,
}

export const activityPubDescriptor = {
  name: 'activitypub',
  authMethods: ['ap-http-signature', 'ap-object-integrity-proof'],
  isSimulated: true,
  mentionRelay: { kind: 'addressing', envelope_fields: ['to', 'cc'], also_inline: true },
  speaker,
} as const satisfies ChannelDescriptor
