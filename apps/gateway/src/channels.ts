import { a2aDescriptor } from '@postern/a2a'
import { activityPubDescriptor } from '@postern/activitypub'
import type { ChannelDescriptor } from '@postern/core'
import { emailDescriptor } from '@postern/email'
import { webDescriptor } from '@postern/web'

/** THE LIST: a protocol is one line here, and its folder. */
export { openA2a as a2a } from '@postern/a2a'
export { openActivityPub as activitypub } from '@postern/activitypub'
export { openEmail as email } from '@postern/email'
export { openWeb as web } from '@postern/web'

/** What each of them is to the rest of the program. */
export const channelDescriptors: readonly ChannelDescriptor[] = [
  activityPubDescriptor,
  a2aDescriptor,
  emailDescriptor,
  webDescriptor,
]
