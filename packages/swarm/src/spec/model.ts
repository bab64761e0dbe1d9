import type { Json } from '@postern/core'
import type { SwarmMessage, SwarmToolCall } from '@postern/transcript'

export interface ModelAnswer {
  readonly content: string
  readonly tool_calls?: readonly SwarmToolCall[] | undefined
}

export interface ToolDescription {
  readonly name: string
  readonly description: string
  /** JSON Schema of the arguments. */
  readonly parameters: Json
}

/** A model as the swarm sees it. */
export interface SwarmModel {
  /** `hear` may be told the pieces of `content` as they come; the swarm decides what of them is passed on. */
  complete(
    messages: readonly SwarmMessage[],
    tools: readonly ToolDescription[],
    hear?: (piece: string) => void,
  ): Promise<ModelAnswer>
  /** What it says to a prompt and words that are no part of a conversation; default: as `complete` without tools. */
  run?(messages: readonly SwarmMessage[]): Promise<ModelAnswer>
}
