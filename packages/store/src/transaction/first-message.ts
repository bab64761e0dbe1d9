// Declares the columns of a message that begins its thread.
import type { ChannelName } from '@postern/message'
import type { Intake } from '@postern/pipeline'

/** The columns of a message that began its thread, with its raw bytes. */
export interface FirstMessage {
  readonly agent: string
  readonly channel: ChannelName
  readonly thread_id: number
  readonly key: string
  readonly public_id: string | null
  readonly envelope: string
  readonly content: string
  readonly flags: string | null
  readonly target: string
  readonly correlation_id: string
  readonly owner: string | null
  readonly native_id: string | null
  readonly raw: Intake['raw']
}
