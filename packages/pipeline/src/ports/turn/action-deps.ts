// Declares the dependencies of an agent's actions.

import type { AgentChain, ChannelName, Part, RefusedAct, System } from '@postern/message'
import type { Channel } from '../channel/channel.ts'
import type { Blob } from '../records/planned-delivery.ts'
import type { PlannedAction } from '../records/work/answer.ts'
import type { LookupStore } from '../store/lookup-store.ts'
import type { Store } from '../store/store.ts'
import type { RunningAgent } from './running-agent.ts'

/** The acting agent. */
export interface ActingAgent {
  readonly agent: string
  /** The agent's address, `@agent@domain`. */
  readonly address: string
  /** The id of the message that the agent answers. Absent outside a turn. */
  readonly message?: string | undefined
  /** The channel that publishes posts, if several channels can publish them. */
  readonly via?: ChannelName | undefined
  /** The agents that called each other before the message that the agent answers. */
  readonly chain?: AgentChain | undefined
}

export interface ActionDeps {
  readonly store: Pick<
    LookupStore,
    'findResponse' | 'findMessageTo' | 'findBlob' | 'findConversation' | 'readHistory'
  > &
    Pick<Store, 'readTurn'>
  readonly system: Pick<System, 'now' | 'randomBytes' | 'log'>
  /** The channels in the order of the gateway's list. */
  readonly channels: readonly Channel[]
  /** Finds a running agent. If it is absent, no agent runs, and every agent has the default configuration. */
  findAgent?(name: string): Pick<RunningAgent, 'mentions'> | undefined
  /** Moves the bytes inside parts into blobs. If it is absent, they stay in the parts. */
  storeFiles?(parts: readonly Part[]): StoredFiles
  /** The posts that were planned while their agent ran, by their ids. */
  readonly plannedActions?: ReadonlyMap<string, PlannedAction> | undefined
  /** Reports an action that is impossible, or that reaches only some of its recipients. */
  onRefused?(refusedAction: RefusedAct): void
}

export interface StoredFiles {
  readonly parts: Part[]
  readonly blobs: readonly Blob[]
}
