import type { JsonMap } from '@postern/transcript'
import type { SwarmData } from '../data/data.ts'
import type { ToolDescription } from './model.ts'

/** What a tool may do while it runs. Everything is done in the name of the agent that called it. */
export interface SwarmToolContext {
  readonly clientId: string
  readonly agentName: string
  readonly toolId: string
  readonly params: JsonMap
  /** What the user said last. */
  readonly lastUserMessage: string
  /** States, storages and computes of the client. */
  readonly data: SwarmData
  /** The result of this call. Once; a tool that gives none has failed. */
  commitToolOutput(content: string): Promise<void>
  /** Leaves the turn's further calls undone. */
  commitStopTools(): Promise<void>
  commitFlush(): Promise<void>
  /** @throws Rejection forbidden for a recursion; false where there is no such agent */
  changeToAgent(agentName: string): Promise<boolean>
  /** @throws Rejection forbidden for a recursion */
  changeToDefault(): Promise<boolean>
  /** False where there is nobody to go back to. */
  changeToPrevious(): Promise<boolean>
  /** Lets the agent that is active then go on with these words. Without it, and without `emit`, it goes on by itself. */
  execute(message: string): void
  /** Ends the turn: these words are the answer. */
  emit(content: string): void
}

export interface SwarmTool extends ToolDescription {
  /** A tool that hands over: one of them runs in a turn. */
  readonly isNavigation?: boolean | undefined
  call(context: SwarmToolContext): Promise<void>
}
