// Describes the platforms to the gateway, and writes the addresses of their people.

import { parseIfAddress } from '@postern/message'
import type { ChannelDescriptor, SpeakerRules } from '@postern/pipeline'

/** The method of all platforms: their adapter has verified the request. */
export const webhookMethod = 'platform-webhook'

/** Returns the rules for the people of a platform. Their addresses consist of ids, so they stay the same when somebody changes their name. */
function createSpeakerRules(platform: string): SpeakerRules {
  return {
    // The platform knows the account of a person, whatever its role is. A program is nobody's address.
    assurance: ['member', 'guest', 'external'],
    identify: (_, { subject }) => subject,
    readAddress(text) {
      const address = parseIfAddress(text)
      return address?.domain.endsWith(`.${platform}`) ? { address } : undefined
    },
    answersInPrivate: true,
  }
}

type PlatformDescriptor<Name extends string> = ChannelDescriptor & {
  readonly name: Name
  readonly evidenceMethod: string
}

/** Describes a platform. `repeatsForMs` is the time for which it repeats an event that was not acknowledged. */
export function describePlatform<Name extends string>({
  name,
  ...facts
}: Pick<PlatformDescriptor<Name>, 'name' | 'evidenceMethod' | 'repeatsForMs'>): PlatformDescriptor<Name> {
  return {
    name,
    authMethods: [webhookMethod],
    mentionRelay: { kind: 'inline' },
    ...facts,
    addressesFiles: true,
    speaker: createSpeakerRules(name),
  }
}
