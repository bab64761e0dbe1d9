// Lists the channels whose path is measured.
import type { MeasuredChannel } from './measure-paths.ts'

interface PathChannel {
  readonly channel: MeasuredChannel
  /** The heading of the channel's list. */
  readonly title: string
}

export const pathChannels: readonly PathChannel[] = [
  { channel: 'activitypub', title: 'ActivityPub' },
  { channel: 'a2a', title: 'A2A' },
  { channel: 'email', title: 'Email' },
  { channel: 'web', title: 'Web' },
]
