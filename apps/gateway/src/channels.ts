import { a2a } from '@postern/a2a'
import { activityPub } from '@postern/activitypub'
import type { ChannelDescriptor } from '@postern/core'
import { email } from '@postern/email'
import { web } from '@postern/web'

/** THE LIST: a channel is one line here, and its package. */
export const channelModules = [activityPub, a2a, email, web] as const

/** Names of those by which the simulated network sends. */
export const simulatedChannels: readonly string[] = channelModules
  .map(({ descriptor }): ChannelDescriptor => descriptor)
  .filter(({ isSimulated }) => isSimulated)
  .map(({ name }) => name)
