import type { MeasuredChannel } from './measure.ts'

/** The heading of a channel's list in `docs/explanation/path-files.md`, and how long the list may be. */
interface PathChannel {
  readonly channel: MeasuredChannel
  readonly title: string
  /** The goal is 50. Make the number smaller when files leave the path. */
  readonly maxFiles: number
}

export const pathChannels: readonly PathChannel[] = [
  { channel: 'activitypub', title: 'ActivityPub', maxFiles: 93 },
  { channel: 'a2a', title: 'A2A', maxFiles: 76 },
  { channel: 'email', title: 'Email', maxFiles: 90 },
  { channel: 'web', title: 'Web', maxFiles: 78 },
]
