// Formats and parses the ids of threads in a chat.
import type { ChannelName } from '@postern/message'
import type { OwnThread } from '@postern/pipeline'
import type { WebDeps } from '../endpoint.ts'

/** Returns the id of a thread in a chat: the key of a chat, or the channel and number of a conversation on another channel. */
export function threadNameOf({ via, key, id }: Pick<OwnThread, 'via' | 'key' | 'id'>): string {
  return via === 'web' ? key : `${via}:${id}`
}

/** Parses the id of a conversation on another channel, as `threadNameOf` formats it. No chat has an id of this form. */
export function parseThreadName(
  threadId: string,
  { gateway }: Pick<WebDeps, 'gateway'>,
): { readonly via: ChannelName; readonly id: number } | undefined {
  const [, via, id] = /^([a-z][a-z0-9-]*):([1-9]\d{0,14})$/.exec(threadId) ?? []
  const isOtherChannel = gateway.channels.some(
    ({ descriptor }) => descriptor.name === via && !descriptor.speaker.isChat,
  )
  return via !== undefined && isOtherChannel ? { via, id: Number(id) } : undefined
}
