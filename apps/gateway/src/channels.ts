// Lists the channels of the gateway.
import { a2a } from '@postern/a2a'
import { activityPub } from '@postern/activitypub'
import { email } from '@postern/email'
import type { ChannelDescriptor } from '@postern/pipeline'
import { slack } from '@postern/platforms'
import { web } from '@postern/web'

/** All channels of the gateway. A new channel needs one entry here and a package of its own. */
export const channelModules = [activityPub, a2a, email, web, slack] as const

const simulatedDescriptors = channelModules
  .map(({ descriptor }): ChannelDescriptor => descriptor)
  .filter(({ isSimulated }) => isSimulated)

/** The names of the channels that the simulated network can send by. */
export const simulatedChannels: readonly string[] = simulatedDescriptors.map(({ name }) => name)

/** Resolves a channel's name or alias to its name. Returns any other text unchanged. */
export function resolveChannelAlias(name: string): string {
  return simulatedDescriptors.find(({ alias }) => alias === name)?.name ?? name
}
