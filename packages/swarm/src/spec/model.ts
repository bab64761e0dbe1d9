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

/** A model in the form that the swarm uses. */
export interface SwarmModel {
  /** `hear` gets the pieces of `content` while the model writes. The swarm decides what to pass on. */
  complete(
    messages: readonly SwarmMessage[],
    tools: readonly ToolDescription[],
    hear?: (piece: string) => void,
  ): Promise<ModelAnswer>
  /** Answers a prompt and a text outside of any conversation; default: as `complete` without tools. */
  run?(messages: readonly SwarmMessage[]): Promise<ModelAnswer>
}
