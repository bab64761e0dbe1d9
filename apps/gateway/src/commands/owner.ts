import type { ChannelDescriptor } from '@postern/core'

/** Whose all is, as an operator writes it: of the first channel that reads it. */
export function readOwner(
  text: string,
  channels: readonly { readonly descriptor: Pick<ChannelDescriptor, 'speaker'> }[],
): string | undefined {
  return channels.map(({ descriptor }) => descriptor.speaker.readOwner?.(text)).find(owner => owner !== undefined)
}
