import type { AgentChain, ChannelName } from '../../message/message.ts'
import type { Part } from '../../message/part.ts'
import type { Channel } from '../channel.ts'
import type { LookupStore } from '../lookup-store.ts'
import type { Platform } from '../platform/platform.ts'
import type { Blob } from '../records/planned-delivery.ts'

/** Who acts. */
export interface ActingAgents {
  readonly agent: string
  /** `@agent@domain` */
  readonly address: string
  /** The message that is being answered, if one is. */
  readonly message?: string | undefined
  /** By which posts go out, where several could. */
  readonly via?: ChannelName | undefined
  /** Of the message that is being answered. */
  readonly chain?: AgentChain | undefined
}

export interface ActionDeps {
  readonly store: Pick<LookupStore, 'findResponse' | 'findMessageTo' | 'findBlob'>
  readonly platform: Pick<Platform, 'now' | 'randomBytes' | 'log'>
  /** In the order of the gateway's list. */
  readonly channels: readonly Channel[]
  /** Bytes inside of parts, taken out; without it they stay where they are. */
  storeFiles?(parts: readonly Part[]): StoredFiles
}

export interface StoredFiles {
  readonly parts: Part[]
  readonly blobs: readonly Blob[]
}
