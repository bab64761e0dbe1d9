import type { JsonMap } from '@postern/transcript'
import type { SwarmData } from '../data/data.ts'
import type { ToolDescription } from './model.ts'

/** What a running tool may do, in the name of the agent that called it. */
export interface SwarmToolContext {
  readonly clientId: string
  readonly agentName: string
  readonly toolId: string
  readonly params: JsonMap
  /** The user's last message. */
  readonly lastUserMessage: string
  /** States, storages and computes of the client. */
  readonly data: SwarmData
  /** The result of this call, once. A tool without a result has failed. */
  commitToolOutput(content: string): Promise<void>
  /** Skips the further calls of the turn. */
  commitStopTools(): Promise<void>
  commitFlush(): Promise<void>
  /** @throws Rejection forbidden for a recursion; false for an unknown agent */
  changeToAgent(agentName: string): Promise<boolean>
  /** @throws Rejection forbidden for a recursion */
  changeToDefault(): Promise<boolean>
  /** False if there is no previous agent. */
  changeToPrevious(): Promise<boolean>
  /** Lets the then active agent continue with this text. Without it, and without `emit`, the agent continues by itself. */
  execute(message: string): void
  /** Ends the turn with this text as the answer. */
  emit(content: string): void
}

export interface SwarmTool extends ToolDescription {
  /** A tool that hands over. Only one of them runs in a turn. */
  readonly isNavigation?: boolean | undefined
  call(context: SwarmToolContext): Promise<void>
}
