import type { ChannelName } from '@postern/core'
import type { Config } from '../config/schema.ts'

/** By which ways a message can come in: mail only where something brings it. */
export function listInbound({ email }: Pick<Config, 'email'>): readonly ChannelName[] {
  const takesMail = email.listen !== undefined || email.intake !== undefined || Object.keys(email.providers).length > 0
  return takesMail ? ['activitypub', 'a2a', 'email'] : ['activitypub', 'a2a']
}
