import type { ChannelName } from '@postern/core'

/** For whom, by which channel and when an effect comes into force. */
export interface EffectPlace {
  readonly agent: string
  readonly channel: ChannelName
  readonly now: number
}
