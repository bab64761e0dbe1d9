import type { ChannelName } from '@postern/core'

/** Where something is said. */
export interface PartialAnswerPosition {
  readonly message: number
  readonly agent: string
  readonly channel: ChannelName
  readonly thread: number
  readonly task: number | undefined
  /** Whose task it is. */
  readonly owner?: string | undefined
  readonly now: number
}
