import type { MeasuredChannel } from './measure.ts'

/** How long the list of a channel may be (`docs/explanation/path-files.md`). */
export const maxFiles = 50

interface PathChannel {
  readonly channel: MeasuredChannel
  /** The heading of its list. */
  readonly title: string
}

export const pathChannels: readonly PathChannel[] = [
  { channel: 'activitypub', title: 'ActivityPub' },
  { channel: 'a2a', title: 'A2A' },
  { channel: 'email', title: 'Email' },
  { channel: 'web', title: 'Web' },
]
