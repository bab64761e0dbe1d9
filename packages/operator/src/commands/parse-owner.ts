// Parses an owner of conversations as an operator types it; the first channel that accepts it wins.
import type { ChannelDescriptor } from '@postern/pipeline'

export function parseOwner(
  text: string,
  channels: readonly { readonly descriptor: Pick<ChannelDescriptor, 'speaker'> }[],
): string | undefined {
  return channels.map(({ descriptor }) => descriptor.speaker.readOwner?.(text)).find(owner => owner !== undefined)
}
