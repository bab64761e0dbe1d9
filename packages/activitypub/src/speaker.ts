// Describes the ActivityPub channel to the gateway, with the rules for identifying its senders.
import { parseIfAddress } from '@postern/message'
import type { ChannelDescriptor, SpeakerRules } from '@postern/pipeline'

/**
 * The rules for actors as senders. Each actor is a separate principal, which its key proves. The address of an actor is written as `@name@host`,
 * `acct:name@host` or `https://host/@name`. Fediverse programs often shorten a mention to the name.
 */
const speakerRules: SpeakerRules = {
  assurance: 'address',
  identify: (_, { subject }) => subject,
  readAddress(text) {
    const handle = text.replace(/^https:\/\/([^/@]+)\/@([^/@]+)\/?$/i, '@$2@$1')
    if (!/^(@|acct:)/i.test(handle)) return undefined
    const address = parseIfAddress(handle)
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
  // Servers abandon a delivery after two days to a week.
  repeatsForMs: 7 * 24 * 3_600_000,
  addressesFiles: true,
  openPaths: ['actor', 'agents', 'inbox'],
  speaker: speakerRules,
} as const satisfies ChannelDescriptor
