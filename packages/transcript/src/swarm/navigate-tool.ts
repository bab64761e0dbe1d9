import type { SwarmTool, ToolContext } from './swarm-spec.ts'

export interface NavigateOptions {
  /** The agent it hands over to. */
  readonly to: string
  /** Default `navigate_to_<to>`. */
  readonly name?: string | undefined
  readonly description?: string | undefined
  /** What the next agent is told, made of what the user said last; absent: the user's own words. `undefined`: `answer` is said instead. */
  readonly handOver?: ((lastUserMessage: string) => string) | undefined
  /** Instead of a hand-over: this is the answer, and the next agent waits for the user. */
  readonly answer?: string | undefined
  /** When the hand-over cannot be. */
  readonly repeat?: string | undefined
}

/**
 * A tool by which a model hands a conversation over: stops the other calls, ends its own call, changes the agent, and lets the new one go
 * on. Where the change cannot be, the history is flushed and the user asked to repeat.
 */
export function createNavigateTool(options: NavigateOptions): SwarmTool {
  const { to, name = `navigate_to_${to}`, description = `Hands the conversation over to ${to}` } = options
  return {
    name,
    description,
    parameters: { type: 'object', properties: {} },
    isNavigation: true,
    async call(context) {
      await context.commitStopTools()
      await context.commitToolOutput(`Navigated from ${context.agentName} to ${to}`)
      if (await changeQuietly(context, to)) goOn(context, options)
      else await askToRepeat(context, options)
    },
  }
}

function goOn(context: ToolContext, { answer, handOver = words => words }: NavigateOptions): void {
  if (answer === undefined) context.execute(handOver(context.lastUserMessage))
  else context.emit(answer)
}

async function askToRepeat(
  context: ToolContext,
  { repeat = 'Please repeat what you would like.' }: NavigateOptions,
): Promise<void> {
  await context.commitFlush()
  context.emit(repeat)
}

async function changeQuietly(context: ToolContext, to: string): Promise<boolean> {
  try {
    return await context.changeToAgent(to)
  } catch {
    return false
  }
}
